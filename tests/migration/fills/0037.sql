-- A summary of other, archived, of a memory that is there and of one that is not.

INSERT INTO recall.link (tenant, src, dst, relation) VALUES ('other', 28, 30, 'derived_from');
INSERT INTO recall.pending_link (tenant, src, target, relation) VALUES ('other', 28, 'minutes', 'derived_from');
