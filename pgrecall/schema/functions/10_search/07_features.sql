-- The features of a candidate, and the log-odds that follow from them. Expressions that every search uses are inlined; what
-- few searches use is a call.

-- more_words_held: the bits of words_held for the ninth and further words. It is a function of its own, because every
-- search prepares all inlined expressions, and few queries have so many words.
CREATE OR REPLACE FUNCTION recall_private.more_words_held(p_text tsvector, p_words tsquery[]) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN
    CASE WHEN p_text @@ p_words[9] THEN 256 ELSE 0 END + CASE WHEN p_text @@ p_words[10] THEN 512 ELSE 0 END
    + CASE WHEN p_text @@ p_words[11] THEN 1024 ELSE 0 END + CASE WHEN p_text @@ p_words[12] THEN 2048 ELSE 0 END
    + CASE WHEN p_words[13] IS NULL THEN 0 ELSE
    CASE WHEN p_text @@ p_words[13] THEN 4096 ELSE 0 END + CASE WHEN p_text @@ p_words[14] THEN 8192 ELSE 0 END
    + CASE WHEN p_text @@ p_words[15] THEN 16384 ELSE 0 END + CASE WHEN p_text @@ p_words[16] THEN 32768 ELSE 0 END END;
END $$;

-- words_held: which of up to 16 words a text contains, as bits. It is one expression, so that it can be inlined. Its
-- CASEs are nested, because few queries have many words.
CREATE OR REPLACE FUNCTION recall_private.words_held(p_text tsvector, p_words tsquery[]) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_text @@ p_words[1] THEN 1 ELSE 0 END + CASE WHEN p_text @@ p_words[2] THEN 2 ELSE 0 END
    + CASE WHEN p_text @@ p_words[3] THEN 4 ELSE 0 END + CASE WHEN p_text @@ p_words[4] THEN 8 ELSE 0 END
    + CASE WHEN p_words[5] IS NULL THEN 0 ELSE
    CASE WHEN p_text @@ p_words[5] THEN 16 ELSE 0 END + CASE WHEN p_text @@ p_words[6] THEN 32 ELSE 0 END
    + CASE WHEN p_text @@ p_words[7] THEN 64 ELSE 0 END + CASE WHEN p_text @@ p_words[8] THEN 128 ELSE 0 END
    + CASE WHEN p_words[9] IS NULL THEN 0 ELSE recall_private.more_words_held(p_text, p_words) END END;

-- weight_of_more_held: the part of weight_of_held for the ninth and further words.
CREATE OR REPLACE FUNCTION recall_private.weight_of_more_held(p_held int, p_idfs double precision[]) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN
    coalesce(CASE WHEN p_held & 256 <> 0 THEN p_idfs[9] END, 0) + coalesce(CASE WHEN p_held & 512 <> 0 THEN p_idfs[10] END, 0)
    + coalesce(CASE WHEN p_held & 1024 <> 0 THEN p_idfs[11] END, 0) + coalesce(CASE WHEN p_held & 2048 <> 0 THEN p_idfs[12] END, 0)
    + CASE WHEN p_held < 4096 THEN 0 ELSE
    coalesce(CASE WHEN p_held & 4096 <> 0 THEN p_idfs[13] END, 0) + coalesce(CASE WHEN p_held & 8192 <> 0 THEN p_idfs[14] END, 0)
    + coalesce(CASE WHEN p_held & 16384 <> 0 THEN p_idfs[15] END, 0) + coalesce(CASE WHEN p_held & 32768 <> 0 THEN p_idfs[16] END, 0) END;
END $$;

-- weight_of_held: the sum of the weights of the words in these bits (see words_held). It is one expression, so that it
-- can be inlined.
CREATE OR REPLACE FUNCTION recall_private.weight_of_held(p_held int, p_idfs double precision[]) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(CASE WHEN p_held & 1 <> 0 THEN p_idfs[1] END, 0) + coalesce(CASE WHEN p_held & 2 <> 0 THEN p_idfs[2] END, 0)
    + coalesce(CASE WHEN p_held & 4 <> 0 THEN p_idfs[3] END, 0) + coalesce(CASE WHEN p_held & 8 <> 0 THEN p_idfs[4] END, 0)
    + CASE WHEN p_held < 16 THEN 0 ELSE
    coalesce(CASE WHEN p_held & 16 <> 0 THEN p_idfs[5] END, 0) + coalesce(CASE WHEN p_held & 32 <> 0 THEN p_idfs[6] END, 0)
    + coalesce(CASE WHEN p_held & 64 <> 0 THEN p_idfs[7] END, 0) + coalesce(CASE WHEN p_held & 128 <> 0 THEN p_idfs[8] END, 0)
    + CASE WHEN p_held < 256 THEN 0 ELSE recall_private.weight_of_more_held(p_held, p_idfs) END END;

-- word_trust: how far the words of a query can be trusted, 0 to 1, by the share of them that the best hit by words holds
-- (p_coverage, by idf). If no memory holds more than a fifth of the words of a sentence, none was found by what the
-- sentence is about, and memories that share its common words keep out those that share its meaning. A query of few words
-- names what it looks for.
CREATE OR REPLACE FUNCTION recall_private.word_trust(p_words int, p_coverage double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_words >= 5 THEN least(greatest((p_coverage - 0.2) * 10, 0), 1) ELSE 1 END;

-- weight_of_words: by what the features of words are multiplied at this trust. Inlined.
CREATE OR REPLACE FUNCTION recall_private.weight_of_words(p_trust double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.1 + 0.9 * p_trust;

-- blended_logit: the log-odds that a candidate answers the query by one of two fixed blends of other systems, reciprocal
-- ranks (rrf) or a weighted sum (seed). It is a function of its own, because every search prepares all inlined
-- expressions, and few use them.
CREATE OR REPLACE FUNCTION recall_private.blended_logit(
    w recall.relevance_model, p_arms double precision[], p_similarity double precision, p_coverage double precision,
    p_likeness double precision, p_semantic_rank bigint, p_lexical_rank bigint, p_name_rank bigint
) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN recall_private.logit(CASE w.form
        WHEN 'seed' THEN least(1,
            w.coverage * p_arms[2] * coalesce(p_coverage, 0)
            + w.similarity * p_arms[1] * greatest(coalesce(p_similarity, 0), 0)
            + w.name * p_arms[3] * p_likeness)
        ELSE 61.0 / 3 * (
            coalesce(w.similarity * p_arms[1] / (60 + p_semantic_rank), 0)
            + coalesce(w.coverage * p_arms[2] / (60 + p_lexical_rank), 0)
            + coalesce(w.name * p_arms[3] / (60 + p_name_rank), 0)) END);
END $$;

-- relevance_logit: the log-odds that a candidate answers the query, computed from its features by a logistic model or by
-- blended_logit. p_arms has the weights of the arms: semantic, lexical, name, author, cue, graph, period. p_trust is how
-- far the words of the query are trusted (see word_trust): without trust, the features of words count a tenth and
-- similarity twice. Inlined.
CREATE OR REPLACE FUNCTION recall_private.relevance_logit(
    w recall.relevance_model, p_arms double precision[], p_author double precision, p_similarity double precision,
    p_coverage double precision, p_strength double precision, p_likeness double precision,
    p_alone boolean, p_authored int, p_cue double precision, p_semantic_rank bigint, p_lexical_rank bigint,
    p_name_rank bigint, p_period double precision, p_session double precision, p_trust double precision,
    p_question double precision, p_speaker double precision, p_no_number int
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN w.form <> 'logistic' THEN recall_private.blended_logit(
        w, p_arms, p_similarity, p_coverage, p_likeness, p_semantic_rank, p_lexical_rank, p_name_rank)
    ELSE w.intercept + coalesce(w.similarity * p_arms[1] * p_similarity * (2 - p_trust), w.no_similarity)
        + p_arms[2] * recall_private.weight_of_words(p_trust) * (w.coverage * coalesce(p_coverage, 0) + w.information * ln(1 + p_strength) + w.session_coverage * p_session)
        + w.name * p_arms[3] * p_likeness * CASE WHEN p_alone THEN 2 ELSE 1 END
        + p_author * p_authored + w.cue * p_arms[5] * p_cue + w.period * p_arms[7] * p_period
        - w.question * p_question + w.speaker * p_speaker - w.no_number * p_no_number END;

-- searched_activation: S of an activation row at p_now as recall_private.activation_sum has it, with the common case inlined: the
-- decay 1/2, and neither spreading nor a new link. The rest is a call, because every search prepares all inlined
-- expressions. p_revived is the time before which a link counts nothing.
CREATE OR REPLACE FUNCTION recall_private.searched_activation(
    a recall.activation, w recall.weights, p_now double precision, p_revived double precision, p_min_age double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN a.decay = 0.5::double precision AND a.t1 <= p_now - p_min_age AND a.spread = 0
         AND coalesce(a.last_linked_at, p_revived) <= p_revived THEN
        sqrt(86400 * recall_private.link_stretch(a.in_degree, w) / a.clock)
        * recall_private.inverse_root_sum(a.n, a.first_at, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8, p_now)
    ELSE recall_private.called_activation_sum(a, w, p_now, p_min_age) END;
