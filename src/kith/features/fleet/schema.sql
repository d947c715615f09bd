-- The fleet's own tables, beside those of procrastinate, which hold only the jobs (leases) of these runs.
-- A run is one task and its one result; an attempt is one worker at work on it.

CREATE TABLE fleet_schema (
  version integer NOT NULL,
  kith text NOT NULL
);

CREATE TABLE fleet_batches (
  id text PRIMARY KEY,
  name text NOT NULL,
  submitter text NOT NULL,
  submitted timestamptz NOT NULL DEFAULT now(),
  max_usd numeric,
  spent_usd numeric NOT NULL DEFAULT 0,
  publish text NOT NULL DEFAULT ''  -- a git repository that gets the branches
);

CREATE TABLE fleet_runs (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  batch text NOT NULL REFERENCES fleet_batches,
  key text NOT NULL,
  task jsonb NOT NULL,
  queue text NOT NULL,
  priority integer NOT NULL,
  share bigint NOT NULL,  -- its virtual start: the place among all submitters
  job bigint,  -- of procrastinate
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'set aside', 'cancelled')),
  cancel boolean NOT NULL DEFAULT false,
  attempt integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,  -- attempts that ended without a result, drained ones left out
  worker text NOT NULL DEFAULT '',
  base text NOT NULL DEFAULT '',  -- the commit that the revision meant at the first attempt
  checkpoint text NOT NULL DEFAULT '',  -- digest of an artefact
  turns integer NOT NULL DEFAULT 0,  -- replies of models, those before the checkpoint included
  started timestamptz,
  ended timestamptz,
  verdict text NOT NULL DEFAULT '',
  code integer,
  reason text NOT NULL DEFAULT '',
  result jsonb,  -- figures and digests of artefacts
  published text NOT NULL DEFAULT '',  -- the branch, or the URL of its pull request
  unpublished text NOT NULL DEFAULT '',  -- why it could not be published
  UNIQUE (batch, key)
);
CREATE INDEX fleet_runs_of_batch ON fleet_runs (batch, state);
CREATE INDEX fleet_runs_open ON fleet_runs (state) WHERE state IN ('waiting', 'running');
CREATE INDEX fleet_runs_ended ON fleet_runs (ended) WHERE ended IS NOT NULL;
CREATE INDEX fleet_runs_begun ON fleet_runs (share) WHERE attempt > 0;

CREATE TABLE fleet_attempts (
  run bigint NOT NULL REFERENCES fleet_runs,
  attempt integer NOT NULL,
  worker text NOT NULL,
  started timestamptz NOT NULL DEFAULT now(),
  ended timestamptz,
  turns integer NOT NULL DEFAULT 0,
  tokens_read bigint NOT NULL DEFAULT 0,
  tokens_written bigint NOT NULL DEFAULT 0,
  usd numeric NOT NULL DEFAULT 0,
  why text NOT NULL DEFAULT '',
  PRIMARY KEY (run, attempt)
);

-- The branch of an ended run on its way into the repository of its batch.
CREATE TABLE fleet_publications (
  run bigint PRIMARY KEY REFERENCES fleet_runs,
  attempt integer NOT NULL,  -- whose result it is
  job bigint,  -- of procrastinate
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'published', 'failed')),
  since timestamptz NOT NULL DEFAULT now(),
  tries integer NOT NULL DEFAULT 0,
  commits text[] NOT NULL DEFAULT '{}',  -- what kith has pushed, or was about to push
  opened timestamptz,  -- its turn at the forge
  url text NOT NULL DEFAULT '',  -- of the pull request
  reason text NOT NULL DEFAULT ''
);
CREATE INDEX fleet_publications_open ON fleet_publications (run) WHERE state = 'waiting';
CREATE INDEX fleet_publications_turns ON fleet_publications (opened) WHERE opened IS NOT NULL;

-- What an attempt was about to put into the store. Once the attempt cannot name it any more, and no run
-- does, it is removed.
CREATE TABLE fleet_stored (
  run bigint NOT NULL,
  attempt integer NOT NULL,
  digest text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (digest, run, attempt)
);
CREATE INDEX fleet_stored_since ON fleet_stored (since);

CREATE TABLE fleet_shares (
  submitter text PRIMARY KEY,
  last bigint NOT NULL
);

CREATE TABLE fleet_workers (
  name text PRIMARY KEY,
  slots integer NOT NULL,
  models jsonb NOT NULL,
  version text NOT NULL,
  started timestamptz NOT NULL DEFAULT now(),
  seen timestamptz NOT NULL DEFAULT now(),
  draining boolean NOT NULL DEFAULT false
);

-- What a model server does at the same time, whichever workers ask it.
CREATE TABLE fleet_slots (
  server text NOT NULL,
  number integer NOT NULL,
  run bigint,
  attempt integer,
  PRIMARY KEY (server, number)
);
