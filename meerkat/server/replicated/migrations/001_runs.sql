CREATE TABLE meerkat.runs (
    id          text COLLATE "C" PRIMARY KEY,
    session     text COLLATE "C" NOT NULL,
    new_session boolean NOT NULL,
    status      text    NOT NULL,
    task        text    NOT NULL, -- JSON
    -- The client's idempotency key, and a digest of what it came with.
    key         text UNIQUE,
    fingerprint text    NOT NULL,
    -- How often the run was begun. A replica changes a run only while the number is
    -- the one it began with.
    attempt     integer NOT NULL DEFAULT 0,
    -- The advisory lock that the replica which executes it holds.
    replica     bigint,
    interrupted boolean NOT NULL DEFAULT false,
    created     timestamptz NOT NULL,
    started     timestamptz,
    ended       timestamptz,
    outcome     text -- JSON
);
CREATE UNIQUE INDEX runs_active ON meerkat.runs (session) WHERE ended IS NULL;
CREATE INDEX runs_session ON meerkat.runs (session, id);
CREATE INDEX runs_ended ON meerkat.runs (ended);

CREATE TABLE meerkat.steering (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      text NOT NULL,
    run     text COLLATE "C" NOT NULL REFERENCES meerkat.runs ON DELETE CASCADE,
    session text COLLATE "C" NOT NULL,
    message text NOT NULL, -- JSON, because it may hold any character
    status  text NOT NULL,
    created timestamptz NOT NULL
);
CREATE INDEX steering_run ON meerkat.steering (run, number);

CREATE TABLE meerkat.logs (
    session text COLLATE "C" PRIMARY KEY,
    name    text   NOT NULL,
    last    bigint NOT NULL DEFAULT 0, -- the number of the last event ever
    size    bigint NOT NULL DEFAULT 0  -- of all events ever, in bytes
);

CREATE TABLE meerkat.events (
    session text COLLATE "C" NOT NULL REFERENCES meerkat.logs ON DELETE CASCADE,
    number  bigint NOT NULL,
    size    bigint NOT NULL, -- of all events up to this one, in bytes
    kind    text   NOT NULL,
    data    bytea  NOT NULL,
    PRIMARY KEY (session, number)
);
