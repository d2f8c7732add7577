-- The operations of the run that clients asked to cancel.
ALTER TABLE meerkat.runs ADD COLUMN cancelled text[] NOT NULL DEFAULT '{}';
