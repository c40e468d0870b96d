-- A role that acts for other.

INSERT INTO recall.tenant_role (tenant, role) VALUES ('other', 'somebody_of_other');
