/** Locks: all that are held or waited for, and one of them as it changes hands. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Card, Empty, Figure, Head, Read, Remaining, State } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { countText, durationText, instantText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Lock {
  readonly name: string;
  readonly holder: string | null;
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
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
            { title: 'Holder', cell: ({ holder }) => <code class="wide">{holder ?? '–'}</code> },
            { title: 'Fencing token', kind: 'number', cell: ({ fencingToken }) => fencingToken ?? '–' },
            { title: 'Lease left', kind: 'number', cell: ({ remainingMs }) => durationText(remainingMs) },
            { title: 'Waiting', kind: 'number', cell: ({ queueLength }) => countText(queueLength) },
          ]}
        />
      ) : (
        <p class="muted">The list of all locks needs the scope locks:admin.</p>
      )}
    </>
  );
}

interface Change {
  readonly key: string;
  readonly at: number;
  readonly holder: string | null;
  readonly fencingToken: number | null;
  readonly queueLength: number;
}

const MAX_CHANGES = 50;
let lastChange = 0;

function OneLock({ name, session }: { readonly name: string; readonly session: Session }): JSX.Element {
  const lock = useResource<Lock>(path`locks/${name}`);
  const { reload } = lock;
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const onEvent = useCallback(
    (event: LiveEvent) => {
      if (event.type !== 'lock') return;
      const next = { ...(event as unknown as Lock), key: String((lastChange += 1)), at: Date.now() };
      setChanges((before) => {
        const [newest, ...older] = before;
        // Only the number of waiters has changed.
        const isSame = newest?.holder === next.holder && newest.fencingToken === next.fencingToken;
        return (isSame ? [{ ...newest, queueLength: next.queueLength }, ...older] : [next, ...before]).slice(
          0,
          MAX_CHANGES,
        );
      });
      reload();
    },
    [reload],
  );
  useTopic(`lock:${encodeURIComponent(name)}`, onEvent);
  return (
    <>
      <Head title={<Bread above={[['Locks', ['locks']]]} name={name} />}>
        {mayChange(session, 'locks:admin') && lock.value?.holder && (
          <ForceRelease name={name} lock={lock.value} done={reload} />
        )}
      </Head>
      <Read of={lock}>{(shown) => <Figures lock={shown} />}</Read>
      <Card title="Holders since this page was opened">
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
              {
                title: 'Holder',
                cell: ({ holder }) =>
                  holder === null ? <State tone="quiet">free</State> : <code class="wide">{holder}</code>,
              },
              { title: 'Fencing token', kind: 'number', cell: ({ fencingToken }) => fencingToken ?? '–' },
              { title: 'Waiting', kind: 'number', cell: ({ queueLength }) => countText(queueLength) },
            ]}
          />
        )}
      </Card>
    </>
  );
}

function Figures({ lock }: { readonly lock: Lock }): JSX.Element {
  const { holder, fencingToken, remainingMs, queueLength } = lock;
  return (
    <div class="grid">
      <Figure
        label="State"
        value={holder === null ? 'Free' : 'Held'}
        note={holder === null ? 'nobody holds it' : <code class="wide">{holder}</code>}
      />
      <Figure
        label="Lease"
        value={holder === null ? '–' : <Remaining until={Date.now() + remainingMs} />}
        note="until it ends without a renewal"
      />
      <Figure label="Waiting" value={countText(queueLength)} note="in the order of their calls" />
      <Figure
        label="Fencing token"
        value={fencingToken === null ? '–' : <span class="long">{fencingToken}</span>}
        note="of the holder"
      />
    </div>
  );
}

function ForceRelease(props: {
  readonly name: string;
  readonly lock: Lock;
  readonly done: () => void;
}): JSX.Element {
  const { name, lock, done } = props;
  const release = async (): Promise<boolean> => {
    const isDone = await act(`${name} is released.`, () => call('POST', path`locks/${name}/force-release`));
    done();
    return isDone;
  };
  return (
    <DialogButton label="Force release" isDanger>
      {(close) => (
        <Dialog
          title={`Take ${name} from its holder`}
          submit="Release"
          isDanger
          close={close}
          onSubmit={release}
        >
          <p>
            <code class="wide">{lock.holder}</code> loses the lock and is not asked. The next in the queue
            gets it, with a higher fencing token.
          </p>
        </Dialog>
      )}
    </DialogButton>
  );
}
