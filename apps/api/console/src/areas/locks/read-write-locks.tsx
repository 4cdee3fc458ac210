/** Read-write locks: the writer or the readers of one, and who waits. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { Card, Facts, Figure, Head, Read } from '../../ui/elements.tsx';
import { useLiveValue } from '../../ui/live-value.ts';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { countText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { LeaseLeft, waitNote } from './lease-left.tsx';

interface ReadWriteLock {
  readonly writer: string | null;
  readonly readers: number;
  readonly firstReaders: readonly string[];
  readonly fencingToken: number | null;
  readonly remainingMs: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
}

const AREA = 'read-write-locks';

export default function ReadWriteLocks({ parts: [name], session }: AreaProps): JSX.Element {
  if (name !== undefined) return <OneLock key={name} name={name} session={session} />;
  return (
    <>
      <Head title="Read-write locks" />
      <OpenByName parts={[AREA]} label="Name of a read-write lock" placeholder="catalogue" />
      <StoredNames
        kind={AREA}
        title="Lock that was held within a week"
        parts={[AREA]}
        empty="No read-write lock was held within a week."
        hint={
          <NextStep
            code="await new ReadWriteLock(redis, 'catalogue').read.acquire()"
            guide="locks/read-write"
          >
            A lock is here for a week after its last holder.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

function OneLock({ name, session }: { readonly name: string; readonly session: Session }): JSX.Element {
  const lock = useLiveValue<ReadWriteLock>(
    path`read-write-locks/${name}`,
    `read-write-lock:${encodeURIComponent(name)}`,
  );
  const side = lock.value && sideOf(lock.value);
  return (
    <>
      <Head title={<Bread above={[['Read-write locks', [AREA]]]} name={name} />}>
        {side && mayChange(session, 'locks:admin') && (
          <ForceRelease name={name} mode={side} done={lock.reload} />
        )}
      </Head>
      <Read of={lock}>{(shown) => <Shown lock={shown} at={lock.at} />}</Read>
    </>
  );
}

function sideOf({ writer, readers }: ReadWriteLock): 'write' | 'read' | undefined {
  if (writer !== null) return 'write';
  return readers > 0 ? 'read' : undefined;
}

function Shown({ lock, at }: { readonly lock: ReadWriteLock; readonly at: number }): JSX.Element {
  const { writer, readers, firstReaders, fencingToken, remainingMs, queueLength, longestWaitMs } = lock;
  const side = sideOf(lock);
  return (
    <>
      <div class="grid">
        <Figure
          label="State"
          value={side === 'write' ? 'Written' : side === 'read' ? 'Read' : 'Free'}
          note={plural(readers, 'reader')}
        />
        <Figure
          label="Lease"
          value={side ? <LeaseLeft key={writer ?? side} remainingMs={remainingMs} at={at} /> : '–'}
          note="of the last holder"
        />
        <Figure label="Waiting" value={countText(queueLength)} note={waitNote(longestWaitMs, queueLength)} />
      </div>
      {side && (
        <Card title="Holders">
          <Facts
            of={{
              Writer: writer === null ? undefined : <code>{writer}</code>,
              Readers: firstReaders.length === 0 ? undefined : <code>{firstReaders.join(', ')}</code>,
              'Fencing token': fencingToken ?? undefined,
            }}
          />
        </Card>
      )}
    </>
  );
}

function ForceRelease(props: {
  readonly name: string;
  readonly mode: 'write' | 'read';
  readonly done: () => void;
}): JSX.Element {
  const { name, mode, done } = props;
  const whom = mode === 'write' ? 'its writer' : 'its readers';
  const release = async (): Promise<boolean> => {
    const isDone = await act(`${name} is released.`, () =>
      call('POST', path`read-write-locks/${name}/force-release`, { body: { mode } }),
    );
    done();
    return isDone;
  };
  return (
    <DialogButton label="Force release" isDanger>
      {(close) => (
        <Dialog
          title={`Take ${name} from ${whom}`}
          submit="Release"
          isDanger
          close={close}
          onSubmit={release}
        >
          <p>They lose the lock and are not asked. The next in the queue gets it.</p>
        </Dialog>
      )}
    </DialogButton>
  );
}
