-- The formula of vitality, computed from the activation row. Sources: Anderson & Schooler (1991) for the power law,
-- Petrov (2006) for exact recent accesses with an averaged tail. Functions that Postgres should inline have no SET
-- clause, which would prevent it. Their bodies are parsed at creation, so search_path cannot change what they call.

-- tail_mean: the mean of x^-d for x uniform on [p_newest, p_oldest], in any unit. For an empty interval, the value at its
-- newer end. It uses the textbook quotient where this loses at most one digit. Near d = 1 and for short intervals it uses
-- (ab)^(-d/2) * shc((1-d) y) / shc(y), y = ln(b/a)/2, shc(x) = sinh(x)/x, which is exact for every d > 0 but slower.
CREATE OR REPLACE FUNCTION recall_private.tail_mean(
    p_newest double precision, p_oldest double precision, p_decay double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_oldest >= 2::double precision * p_newest AND abs(1 - p_decay) >= 0.1::double precision THEN
        (power(p_oldest, 1 - p_decay) - power(p_newest, 1 - p_decay)) / ((1 - p_decay) * (p_oldest - p_newest))
    WHEN p_oldest <= p_newest THEN power(p_newest, -p_decay)
    WHEN p_decay = 1 THEN (ln(p_oldest / p_newest) / 2) / sinh(ln(p_oldest / p_newest) / 2) / sqrt(p_newest * p_oldest)
    ELSE power(p_newest * p_oldest, -p_decay / 2) * sinh((1 - p_decay) * ln(p_oldest / p_newest) / 2)
         / ((1 - p_decay) * sinh(ln(p_oldest / p_newest) / 2))
END;

-- decayed_access: the contribution of an access at p_at to the sum at p_now: its age, at least p_min_age, to the power
-- -p_decay.
CREATE OR REPLACE FUNCTION recall_private.decayed_access(
    p_at double precision, p_decay double precision, p_now double precision, p_min_age double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN power(CASE WHEN p_at < p_now - p_min_age THEN p_now - p_at ELSE p_min_age END, -p_decay);

-- power_sum: the decayed sum of accesses at p_now: each age (in any unit, at least p_min_age) to the power -p_decay. The
-- k newest accesses are exact: p_t1 to p_t8, of which the last may be NULL. The other p_n - k are counted as a uniform
-- tail down to p_first. It is one expression, because a sub-select would prevent inlining (31 times slower per row). Its
-- CASEs are nested, so that a memory with one or two accesses, as most are, needs only two tests.
CREATE OR REPLACE FUNCTION recall_private.power_sum(
    p_n bigint, p_first double precision,
    p_t1 double precision, p_t2 double precision, p_t3 double precision, p_t4 double precision,
    p_t5 double precision, p_t6 double precision, p_t7 double precision, p_t8 double precision,
    p_decay double precision, p_now double precision, p_min_age double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    recall_private.decayed_access(p_t1, p_decay, p_now, p_min_age)
    + CASE WHEN p_t2 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t2, p_decay, p_now, p_min_age)
    + CASE WHEN p_t3 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t3, p_decay, p_now, p_min_age)
    + CASE WHEN p_t4 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t4, p_decay, p_now, p_min_age)
    + CASE WHEN p_t5 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t5, p_decay, p_now, p_min_age)
    + CASE WHEN p_t6 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t6, p_decay, p_now, p_min_age)
    + CASE WHEN p_t7 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t7, p_decay, p_now, p_min_age)
    + CASE WHEN p_t8 IS NULL THEN 0 ELSE recall_private.decayed_access(p_t8, p_decay, p_now, p_min_age)
      END END END END END END END
    + CASE WHEN p_n <= num_nonnulls(p_t1, p_t2, p_t3, p_t4, p_t5, p_t6, p_t7, p_t8) THEN 0
      ELSE (p_n - num_nonnulls(p_t1, p_t2, p_t3, p_t4, p_t5, p_t6, p_t7, p_t8)) * recall_private.tail_mean(
          greatest(p_now - coalesce(p_t8, p_t7, p_t6, p_t5, p_t4, p_t3, p_t2, p_t1), p_min_age),
          greatest(p_now - p_first, p_min_age), p_decay) END;

-- inverse_root_sum: power_sum for the decay 1/2, which is the default, if the newest access has at least the minimum age.
-- Square roots cost a third of powers, and no age must be compared with the minimum.
CREATE OR REPLACE FUNCTION recall_private.inverse_root_sum(
    p_n bigint, p_first double precision,
    p_t1 double precision, p_t2 double precision, p_t3 double precision, p_t4 double precision,
    p_t5 double precision, p_t6 double precision, p_t7 double precision, p_t8 double precision,
    p_now double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    1 / sqrt(p_now - p_t1)
    + CASE WHEN p_t2 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t2)
    + CASE WHEN p_t3 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t3)
    + CASE WHEN p_t4 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t4)
    + CASE WHEN p_t5 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t5)
    + CASE WHEN p_t6 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t6)
    + CASE WHEN p_t7 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t7)
    + CASE WHEN p_t8 IS NULL THEN 0 ELSE 1 / sqrt(p_now - p_t8)
      END END END END END END END
    + CASE WHEN p_n <= num_nonnulls(p_t1, p_t2, p_t3, p_t4, p_t5, p_t6, p_t7, p_t8) THEN 0
      ELSE 2 * (p_n - num_nonnulls(p_t1, p_t2, p_t3, p_t4, p_t5, p_t6, p_t7, p_t8))
           / (sqrt(p_now - coalesce(p_t8, p_t7, p_t6, p_t5, p_t4, p_t3, p_t2, p_t1))
              + sqrt(p_now - least(p_first, coalesce(p_t8, p_t7, p_t6, p_t5, p_t4, p_t3, p_t2, p_t1)))) END;

-- link_stretch: the factor by which a memory ages more slowly because live memories refer to it: 1 to 2 by default.
CREATE OR REPLACE FUNCTION recall_private.link_stretch(p_in_degree int, w recall.weights) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + w.stretch_per_link * CASE WHEN p_in_degree < w.stretch_links THEN p_in_degree ELSE w.stretch_links END;

-- power_sum_scale: the factor that converts a sum of powers of seconds to days of the memory's own clock.
CREATE OR REPLACE FUNCTION recall_private.power_sum_scale(a recall.activation, w recall.weights) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN power(a.clock / (86400 * recall_private.link_stretch(a.in_degree, w)), -a.decay);

-- decayed_spread: a stored spreading boost after p_days days, halved every p_half_life days.
CREATE OR REPLACE FUNCTION recall_private.decayed_spread(
    p_stored double precision, p_days double precision, p_half_life double precision DEFAULT 7
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(p_stored, 1)
    * power(2::double precision, -least(greatest(p_days, 0) / p_half_life, 300));

-- decayed_revival: the remaining effect of a link gained p_days ago: exp(-p_rate * p_days), and 0 from p_until days on.
CREATE OR REPLACE FUNCTION recall_private.decayed_revival(
    p_days double precision, p_until double precision DEFAULT 23.02585092994046,
    p_rate double precision DEFAULT 0.2
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_days < p_until THEN exp(-least(p_rate * greatest(p_days, 0), 300)) ELSE 0 END;

-- spread_term: the amount that spreading adds to S.
CREATE OR REPLACE FUNCTION recall_private.spread_term(
    a recall.activation, w recall.weights, p_now double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN a.spread > 0 AND a.spread_at IS NOT NULL
    THEN w.spread_weight
         * recall_private.decayed_spread(a.spread, (p_now - a.spread_at) / 86400, w.spread_half_life_days)
    ELSE 0 END;

-- revival_term: the amount that the newest link adds to S.
CREATE OR REPLACE FUNCTION recall_private.revival_term(
    a recall.activation, w recall.weights, p_now double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN a.last_linked_at > p_now - 86400 * w.revival_days
    THEN w.revival_weight
         * recall_private.decayed_revival((p_now - a.last_linked_at) / 86400, w.revival_days, w.revival_rate)
    ELSE 0 END;

-- activation_sum: S of one activation row at p_now (epoch seconds); B = ln S, vitality = S / (1 + S). Accesses younger
-- than p_min_age seconds count as that old: a minute for vitality, more for ranking.
CREATE OR REPLACE FUNCTION recall_private.activation_sum(
    a recall.activation, w recall.weights, p_now double precision, p_min_age double precision DEFAULT 60
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
    CASE WHEN a.decay = 0.5::double precision AND a.t1 <= p_now - p_min_age THEN
        sqrt(86400 * recall_private.link_stretch(a.in_degree, w) / a.clock)
        * recall_private.inverse_root_sum(a.n, a.first_at, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8, p_now)
    ELSE
        recall_private.power_sum_scale(a, w)
        * recall_private.power_sum(
            a.n, a.first_at, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8, a.decay, p_now, p_min_age)
    END
    + recall_private.spread_term(a, w, p_now)
    + recall_private.revival_term(a, w, p_now);

-- called_activation_sum: activation_sum as a call, for statements in which it would rarely be computed: an inlined
-- expression is prepared whenever such a statement begins.
CREATE OR REPLACE FUNCTION recall_private.called_activation_sum(
    a recall.activation, w recall.weights, p_now double precision, p_min_age double precision
) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN recall_private.activation_sum(a, w, p_now, p_min_age);
END $$;

-- fresh_base: ln S of a memory stored in this layer an hour ago. If nothing links to a memory, one use adds no more than
-- this S, because a birth weighs at least as much as a use.
CREATE OR REPLACE FUNCTION recall_private.fresh_base(l recall.layer_in_force) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(l.birth_weight) - l.decay * (ln(l.clock) - ln(24::double precision));

-- use_scale: how much a median of S counts in this layer: k = ln 64 / ln(1 + u), between 1 and 1.6, where u is the S of a
-- fresh memory (see fresh_base) in medians, which one use does not exceed. So one use multiplies the odds of a memory by
-- at most 64^weight, 8 for the weight 0.5, and all its uses by at most 64^(1.6 weight), which is 28.
CREATE OR REPLACE FUNCTION recall_private.use_scale(l recall.layer_in_force) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(1.6, ln(64::double precision) / ln(1 + exp(
    least(greatest(recall_private.fresh_base(l) - l.median_base, 0), ln(63::double precision)))));

-- use_term: the amount that use adds to the log-odds of a memory per unit of weight: k ln((1 + r) / 2), where r is S
-- divided by the median S of its layer, at most 63, and k is the use_scale of the layer. The median memory gets 0.
CREATE OR REPLACE FUNCTION recall_private.use_term(
    p_activation double precision, p_median_base double precision, p_scale double precision
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_scale * ln((1 + least(p_activation / exp(p_median_base), 63)) / 2);

-- zone_of: the zone of a retention in a layer. A zone includes its lower bound; dormant is everything below the last.
CREATE OR REPLACE FUNCTION recall_private.zone_of(p_retention double precision, l recall.layer_in_force) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_retention >= l.active THEN 'active'
    WHEN p_retention >= l.stale THEN 'stale'
    WHEN p_retention >= l.fading THEN 'fading'
    ELSE 'dormant'
END;

-- retention_of: vitality with the protection floor applied. For zones and pruning, never for ranking.
CREATE OR REPLACE FUNCTION recall_private.retention_of(
    p_vitality double precision, p_floored boolean, w recall.weights
) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_floored THEN greatest(p_vitality, w.protection_floor) ELSE p_vitality END;

-- vitality_terms: every term of the S of one activation row at p_now, and the values computed from them; one row.
-- Inlined.
CREATE OR REPLACE FUNCTION recall_private.vitality_terms(
    a recall.activation, p_pinned boolean, l recall.layer_in_force, w recall.weights, p_now timestamptz
) RETURNS TABLE (
    accesses bigint, recent double precision, tail double precision, spread double precision,
    revival double precision, activation double precision, base double precision,
    vitality double precision, retention double precision, zone text
)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT a.n, s.scale * s.recent,
           CASE WHEN a.n > h.held THEN greatest(s.activation - s.scale * s.recent - s.spread - s.revival, 0) ELSE 0 END,
           s.spread, s.revival, s.activation, ln(s.activation), v.vitality, v.retention,
           recall_private.zone_of(v.retention, l)
    FROM (SELECT num_nonnulls(a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8) AS held OFFSET 0) h
    CROSS JOIN LATERAL (
        SELECT recall_private.power_sum_scale(a, w) AS scale,
               recall_private.power_sum(
                   h.held, a.first_at, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8, a.decay, recall_private.epoch(p_now),
                   60::double precision) AS recent,
               recall_private.activation_sum(a, w, recall_private.epoch(p_now)) AS activation,
               recall_private.spread_term(a, w, recall_private.epoch(p_now)) AS spread,
               recall_private.revival_term(a, w, recall_private.epoch(p_now)) AS revival
        OFFSET 0) s
    CROSS JOIN LATERAL (
        SELECT s.activation / (1 + s.activation) AS vitality,
               recall_private.retention_of(s.activation / (1 + s.activation), a.protected OR p_pinned, w) AS retention
        OFFSET 0) v;
END;
