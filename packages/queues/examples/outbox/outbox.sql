-- The tasks of committed transactions that no relay has enqueued yet.
create table outbox (
  -- Becomes the id of the task: enqueued twice, it is stored once.
  id uuid primary key default gen_random_uuid(),
  name text not null,
  payload jsonb not null,
  -- Of Queue.enqueue: {"group": "order:42", "priority": "high", "runAt": 1767225600000}
  options jsonb not null default '{}' check (jsonb_typeof(options) = 'object'),
  created_at timestamptz not null default now(),
  -- The reason why the queue refused the task. Correct the row, and set this to null: the relay tries again.
  refused text,
  -- Set by the trigger.
  lane smallint not null,
  seq bigint not null
);
create index outbox_waiting on outbox (lane, seq) where refused is null;
create sequence outbox_seq;

-- A relay locks the row of a lane while it moves the tasks of this lane. All tasks of a group share one lane, so they keep their
-- order with any number of relays.
create table outbox_lanes (lane smallint primary key);
insert into outbox_lanes select generate_series(0, 15);

create function outbox_place() returns trigger language plpgsql as $$
begin
  if new.options ? 'group' then
    -- Held until the transaction ends: within a group, seq is the order of the commits.
    perform pg_advisory_xact_lock(hashtextextended('outbox ' || (new.options ->> 'group'), 0));
  end if;
  new.lane := hashtextextended(coalesce(new.options ->> 'group', new.id::text), 0) & 15;
  new.seq := nextval('outbox_seq');
  return new;
end $$;
create trigger outbox_place before insert on outbox for each row execute function outbox_place();

-- Commits that notify wait for each other, so commits notify only while a relay waits. A relay takes this lock before it waits. It
-- gets the lock when the transactions that share it have ended, and looks again. A transaction that can't share the lock notifies.
create function outbox_wake() returns trigger language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock_shared('outbox'::regclass::oid::int, 0) then
    perform pg_notify('outbox', '');
  end if;
  return null;
end $$;
create trigger outbox_wake after insert on outbox for each statement execute function outbox_wake();
