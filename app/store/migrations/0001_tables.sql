-- Only BIGINT and TEXT: both engines and the driver between them know these alike. Times are milliseconds since 1970.
-- Texts that are compared by order have the collation "binary", which both engines call so here. Large columns are last.

-- Something that has a state and moves.
CREATE TABLE subject (
    key TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    due_ms BIGINT,
    lease_owner TEXT,
    lease_ms BIGINT,
    -- Up to which version everything is said; -1 where nothing is.
    said BIGINT NOT NULL,
    -- Since when something is not said.
    unsaid_ms BIGINT NOT NULL,
    state TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX subject_due ON subject (due_ms, key) WHERE due_ms IS NOT NULL;
CREATE INDEX subject_unsaid ON subject (unsaid_ms, key) WHERE version > said;

-- Effects that are written down and not done. The numbers of one subject grow.
CREATE TABLE effect (
    subject TEXT COLLATE "binary" NOT NULL REFERENCES subject (key),
    key TEXT COLLATE "binary" NOT NULL,
    number BIGINT NOT NULL,
    begun BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (subject, key)
);
CREATE INDEX effect_order ON effect (subject, number);

-- Looks that were taken.
CREATE TABLE look (
    ledger TEXT COLLATE "binary" NOT NULL,
    episode BIGINT NOT NULL,
    look BIGINT NOT NULL,
    run TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    judged TEXT NOT NULL,
    PRIMARY KEY (ledger, episode, look)
);

-- Deliveries as they were received.
CREATE TABLE delivery (
    guid TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    event TEXT NOT NULL,
    received_ms BIGINT NOT NULL,
    -- The version of the handler that handled it; -1 where none did.
    handled BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    outcome TEXT,
    headers TEXT NOT NULL,
    payload TEXT NOT NULL
);
CREATE INDEX delivery_open ON delivery (handled, due_ms);

-- Runs of pull requests.
CREATE TABLE run (
    id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    repo_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    suite TEXT NOT NULL,
    request TEXT NOT NULL UNIQUE,
    head TEXT NOT NULL,
    ledger TEXT,
    active BIGINT NOT NULL,
    -- 1 once it was told that it may start.
    slot BIGINT NOT NULL,
    outcome TEXT,
    evidence TEXT,
    created_ms BIGINT NOT NULL,
    ended_ms BIGINT
);
CREATE UNIQUE INDEX run_one_active ON run (repo_id, number) WHERE active = 1;
CREATE INDEX run_active ON run (created_ms, id) WHERE active = 1;
CREATE INDEX run_of_pull ON run (repo_id, number, created_ms);

-- What is to be said, as wanted states.
CREATE TABLE outbox (
    target TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    -- The hash of what was said last; empty where nothing was, or where it is to be said again.
    sent_hash TEXT NOT NULL,
    remote BIGINT,
    gone BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Why it could not be said, the last time.
    trouble TEXT,
    lease_owner TEXT,
    lease_ms BIGINT,
    fence BIGINT NOT NULL,
    wanted TEXT NOT NULL
);
CREATE INDEX outbox_due ON outbox (due_ms, target) WHERE sent_hash <> hash;

-- Repositories as they were last seen.
CREATE TABLE repo (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    installation BIGINT NOT NULL
);

-- Who did what. Numbers may repeat where two transactions wrote at once.
CREATE TABLE audit (
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_order ON audit (number);
