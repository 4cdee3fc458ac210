/** Locks: all that are held or waited for, and one of them as it changes hands. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Session } from '../../session.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { ActionButton } from '../../ui/action-button.tsx';
import { useLiveValue } from '../../ui/live-value.ts';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { useNow } from '../../ui/clock.ts';
import { Card, Empty, Figure, Head, Read, State } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText, instantText, plural } from '../../ui/text.ts';
import { Holder, LeaseLeft, seenAt, waitNote } from './lease-left.tsx';

interface Lock {
  readonly name: string;
  readonly holder: string | null;
  readonly owner: string | null;
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
}

export default function Locks({ parts: [name], session }: AreaProps): JSX.Element {
  if (name !== undefined) return <OneLock key={name} name={name} session={session} />;
  return (
    <>
      <Head title="Locks" />
      <OpenByName parts={['locks']} label="Name of a lock" placeholder="market:item-42" />
      {mayDo(session, 'locks:admin') ? (
        <PagedTable<Lock>
          address="locks"
          topic="locks"
          label="Locks that are held or waited for"
          idOf={(lock) => lock.name}
          empty="No lock is held."
          hint={
            <NextStep code="await new Mutex(redis, 'item-42').acquire()" guide="locks/mutual-exclusion">
              A lock is here while somebody holds it or waits for it.
            </NextStep>
          }
          columns={[
            {
              title: 'Lock',
              cell: (lock) => (
                <Link class="wide" href={hrefOf(['locks', lock.name])}>
                  {lock.name}
                </Link>
              ),
            },
            { title: 'Holder', cell: HolderOf },
            { title: 'Fencing token', kind: 'number', cell: ({ fencingToken }) => fencingToken ?? '–' },
            {
              title: 'Lease left',
              kind: 'number',
              cell: (lock) =>
                lock.holder === null ? (
                  '–'
                ) : (
                  <LeaseLeft key={lock.holder} remainingMs={lock.remainingMs} at={seenAt(lock)} />
                ),
            },
            { title: 'Waiting', kind: 'number', cell: ({ queueLength }) => countText(queueLength) },
            {
              title: 'The first for',
              kind: 'number',
              cell: ({ queueLength, longestWaitMs }) =>
                queueLength === 0 ? '–' : durationText(longestWaitMs),
            },
          ]}
        />
      ) : (
        <p class="muted">The list of all locks needs the scope locks:admin.</p>
      )}
    </>
  );
}

function HolderOf({ holder, owner }: Pick<Lock, 'holder' | 'owner'>): JSX.Element {
  return holder === null ? <State tone="quiet">free</State> : <Holder holder={holder} owner={owner} />;
}

interface Change extends Pick<Lock, 'holder' | 'owner' | 'fencingToken' | 'queueLength'> {
  readonly key: string;
  readonly at: number;
}

const MAX_CHANGES = 50;
let lastChange = 0;

/** The holders that the topic told of, the last one first, and how many came after the first. */
function useChanges(): { changes: readonly Change[]; count: number; note: (lock: Lock) => void } {
  const [{ changes, count }, set] = useState<{ changes: readonly Change[]; count: number }>({
    changes: [],
    count: 0,
  });
  const note = useCallback((lock: Lock) => {
    const next = { ...lock, key: String((lastChange += 1)), at: Date.now() };
    set((before) => {
      const [newest, ...older] = before.changes;
      // Only the lease or the number of waiters has changed.
      if (newest?.holder === next.holder && newest.fencingToken === next.fencingToken)
        return { ...before, changes: [{ ...newest, queueLength: next.queueLength }, ...older] };
      const isHandOver = newest !== undefined && next.holder !== null;
      return {
        changes: [next, ...before.changes].slice(0, MAX_CHANGES),
        count: before.count + (isHandOver ? 1 : 0),
      };
    });
  }, []);
  return { changes, count, note };
}

function OneLock({ name, session }: { readonly name: string; readonly session: Session }): JSX.Element {
  const { changes, count, note } = useChanges();
  const lock = useLiveValue<Lock>(path`locks/${name}`, `lock:${encodeURIComponent(name)}`, note);
  return (
    <>
      <Head title={<Bread above={[['Locks', ['locks']]]} name={name} />}>
        {mayChange(session, 'locks:admin') && lock.value?.holder && (
          <ForceRelease name={name} lock={lock.value} done={lock.reload} />
        )}
      </Head>
      <Read of={lock}>{(shown) => <Figures lock={shown} at={lock.at} />}</Read>
      <Card title="Holders since this page was opened" actions={<Rate count={count} />}>
        {changes.length === 0 ? (
          <Empty title="It has not changed hands yet.">
            <span>Leave this page open: each new holder is added here.</span>
          </Empty>
        ) : (
          <Table
            label="Changes of the lock"
            rows={changes}
            idOf={({ key }) => key}
            columns={[
              { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
              { title: 'Holder', cell: HolderOf },
              { title: 'Fencing token', kind: 'number', cell: ({ fencingToken }) => fencingToken ?? '–' },
              { title: 'Waiting', kind: 'number', cell: ({ queueLength }) => countText(queueLength) },
            ]}
          />
        )}
      </Card>
    </>
  );
}

function Figures({ lock, at }: { readonly lock: Lock; readonly at: number }): JSX.Element {
  const { holder, owner, fencingToken, remainingMs, queueLength, longestWaitMs } = lock;
  return (
    <div class="grid">
      <Figure
        label="State"
        value={holder === null ? 'Free' : 'Held'}
        note={holder === null ? 'nobody holds it' : <Holder holder={holder} owner={owner} />}
      />
      <Figure
        label="Lease"
        value={holder === null ? '–' : <LeaseLeft key={holder} remainingMs={remainingMs} at={at} />}
        note="until it ends without a renewal"
      />
      <Figure label="Waiting" value={countText(queueLength)} note={waitNote(longestWaitMs, queueLength)} />
      <Figure
        label="Fencing token"
        value={fencingToken === null ? '–' : <span class="long">{fencingToken}</span>}
        note={holder === null ? 'of the last holder' : 'of the holder'}
      />
    </div>
  );
}

const MINUTE_MS = 60_000;

/** How often the lock changes hands, as this page sees it: Redis keeps no history of a lock. */
function Rate({ count }: { readonly count: number }): JSX.Element {
  const now = useNow();
  const [openedAt] = useState(Date.now);
  const minutes = (now - openedAt) / MINUTE_MS;
  return (
    <span class="muted small">
      {plural(count, 'change')}
      {minutes >= 1 && `, ${(count / minutes).toFixed(1)} per minute`}
    </span>
  );
}

function ForceRelease(props: {
  readonly name: string;
  readonly lock: Lock;
  readonly done: () => void;
}): JSX.Element {
  const { name, lock, done } = props;
  return (
    <ActionButton
      label="Force release"
      title={`Take ${name} from its holder`}
      submit="Release"
      isDanger
      run={() => call('POST', path`locks/${name}/force-release`)}
      told={`${name} is released.`}
      done={done}
    >
      <p>
        <code class="wide">{lock.holder}</code> loses the lock and is not asked. The next in the queue gets
        it, with a higher fencing token.
      </p>
    </ActionButton>
  );
}
