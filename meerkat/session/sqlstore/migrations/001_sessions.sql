CREATE TABLE meerkat.sessions (
    id      text COLLATE "C" PRIMARY KEY,
    header  bytea  NOT NULL,
    created bigint NOT NULL, -- nanoseconds since 1970
    updated bigint NOT NULL,
    -- How many writers the session has had. A writer stores records only while
    -- the number is still its own.
    writers bigint NOT NULL,
    -- Who the last writer was, for people.
    writer  text   NOT NULL
);
CREATE INDEX sessions_updated ON meerkat.sessions (updated DESC, id DESC);

CREATE TABLE meerkat.records (
    session text COLLATE "C" NOT NULL REFERENCES meerkat.sessions ON DELETE CASCADE,
    number  bigint NOT NULL,
    lines   bytea  NOT NULL,
    PRIMARY KEY (session, number)
);
