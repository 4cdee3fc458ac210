-- The tasks that transactions have promised and no relay has handed to the queue yet.
create table outbox (
  -- Becomes the id of the task: enqueued twice, it is stored once.
  id uuid primary key default gen_random_uuid(),
  name text not null,
  payload jsonb not null,
  -- Of Queue.enqueue: {"group": "order:42", "priority": "high", "runAt": 1767225600000}
  options jsonb not null default '{}' check (jsonb_typeof(options) = 'object'),
  created_at timestamptz not null default now(),
  -- Why the queue would not have the task. Corrected and set to null again, the row is taken like any other.
  refused text,
  -- Set by the trigger, whatever is inserted.
  lane smallint not null,
  seq bigint not null
);
create index outbox_waiting on outbox (lane, seq) where refused is null;
create sequence outbox_seq;

-- A relay holds the row of a lane while it moves that lane's tasks: all tasks of a group share one lane, so they keep their order
-- however many relays there are.
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

-- Commits that notify wait for each other, so only those notify that have to. A relay that is about to wait takes this lock: it gets
-- it when the transactions that hold it have ended, and then looks. A transaction that cannot share the lock notifies that relay.
create function outbox_wake() returns trigger language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock_shared('outbox'::regclass::oid::int, 0) then
    perform pg_notify('outbox', '');
  end if;
  return null;
end $$;
create trigger outbox_wake after insert on outbox for each statement execute function outbox_wake();
