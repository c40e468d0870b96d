-- acme may also copy memories into other.

UPDATE recall.reader SET may_share = true WHERE tenant = 'other';
