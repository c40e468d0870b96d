-- Nothing: the zone has another name in stored reports of plans.

SELECT;
