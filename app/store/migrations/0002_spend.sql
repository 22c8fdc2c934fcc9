-- Only BIGINT and TEXT, as before.

-- The account that asked for a run; 0 where nobody knows.
ALTER TABLE run ADD COLUMN person BIGINT NOT NULL DEFAULT 0;

-- What runs were promised and have used, CPU milliseconds; NULL is not known.
CREATE TABLE spend (
    run TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    repo_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    person BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    promised_ms BIGINT,
    used_ms BIGINT,
    -- Trials that ended well: how many, what they used, how long they took.
    trials BIGINT NOT NULL,
    trials_cpu_ms BIGINT NOT NULL,
    trials_wall_ms BIGINT NOT NULL,
    suite TEXT NOT NULL,
    -- Empty where none was taken.
    preset TEXT NOT NULL,
    fingerprint TEXT NOT NULL
);
CREATE INDEX spend_person ON spend (person, at_ms);
CREATE INDEX spend_repo ON spend (repo_id, at_ms);
CREATE INDEX spend_learnt ON spend (suite, preset, at_ms) WHERE trials > 0;
