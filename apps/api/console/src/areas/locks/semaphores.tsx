/** Semaphores: their permits, and who holds them. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Session } from '../../session.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { ActionButton } from '../../ui/action-button.tsx';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { useLiveValue } from '../../ui/live-value.ts';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Empty, Figure, Head, Read, Share } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { countText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { Holder, LeaseLeft, waitNote } from './lease-left.tsx';

interface Summary {
  readonly name: string;
  readonly limit: number | null;
  readonly used: number;
  readonly queueLength: number;
  readonly longestWaitMs: number;
}

interface PermitHolder {
  readonly holder: string;
  readonly owner: string | null;
  readonly permits: number;
  readonly remainingMs: number;
}

interface Semaphore extends Summary {
  readonly holders: readonly PermitHolder[];
}

export default function Semaphores({ parts: [name], session }: AreaProps): JSX.Element {
  if (name !== undefined) return <OneSemaphore key={name} name={name} session={session} />;
  return (
    <>
      <Head title="Semaphores" />
      <OpenByName parts={['semaphores']} label="Name of a semaphore" placeholder="smtp" />
      {mayDo(session, 'locks:admin') ? (
        <PagedTable<Summary>
          address="semaphores"
          topic="semaphores"
          label="Semaphores that are held or waited for"
          idOf={(each) => each.name}
          empty="No permit is held."
          hint={
            <NextStep
              code="await new Semaphore(redis, 'smtp', { permits: 3 }).acquire()"
              guide="locks/semaphores"
            >
              A semaphore is here while somebody holds a permit or waits for one.
            </NextStep>
          }
          columns={[
            {
              title: 'Semaphore',
              cell: (each) => (
                <Link class="wide" href={hrefOf(['semaphores', each.name])}>
                  {each.name}
                </Link>
              ),
            },
            { title: 'Permits in use', cell: Used },
            { title: 'Waiting', kind: 'number', cell: ({ queueLength }) => countText(queueLength) },
          ]}
        />
      ) : (
        <p class="muted">The list of all semaphores needs the scope locks:admin.</p>
      )}
    </>
  );
}

function Used({ used, limit }: Summary): JSX.Element {
  const text = `${countText(used)} of ${limit === null ? 'an unknown number' : countText(limit)}`;
  return (
    <span>
      {text}
      {limit !== null && <Share used={used} of={limit} label={text} tone={used >= limit ? 'bad' : 'good'} />}
    </span>
  );
}

function OneSemaphore({ name, session }: { readonly name: string; readonly session: Session }): JSX.Element {
  const semaphore = useLiveValue<Semaphore>(
    path`semaphores/${name}`,
    `semaphore:${encodeURIComponent(name)}`,
  );
  const change = async ({ permits }: Readonly<Record<string, string>>): Promise<boolean> => {
    const isDone = await act(`${name} has ${permits} permits.`, () =>
      call('PUT', path`semaphores/${name}`, { body: { permits: Number(permits) } }),
    );
    semaphore.reload();
    return isDone;
  };
  return (
    <>
      <Head title={<Bread above={[['Semaphores', ['semaphores']]]} name={name} />}>
        {mayChange(session, 'locks:admin') && (
          <DialogButton label="Change the limit">
            {(close) => (
              <Dialog title={`Permits of ${name}`} submit="Store" close={close} onSubmit={change}>
                <Field label="Permits" hint="holders keep theirs, also above a lower limit">
                  <input
                    name="permits"
                    type="number"
                    min="1"
                    required
                    defaultValue={semaphore.value?.limit ?? ''}
                  />
                </Field>
              </Dialog>
            )}
          </DialogButton>
        )}
      </Head>
      <Read of={semaphore}>
        {(shown) => (
          <>
            <div class="grid">
              <Figure
                label="Permits in use"
                value={countText(shown.used)}
                note={`of ${shown.limit ?? 'no known limit'}`}
              />
              <Figure
                label="Waiting"
                value={countText(shown.queueLength)}
                note={waitNote(shown.longestWaitMs, shown.queueLength)}
              />
            </div>
            {shown.holders.length === 0 ? (
              <Empty title="Nobody holds a permit.">
                <span>A holder is here until it releases its permits, or its lease ends.</span>
              </Empty>
            ) : (
              <Table
                label="Holders"
                rows={shown.holders}
                idOf={({ holder }) => holder}
                columns={[
                  { title: 'Holder', cell: Holder },
                  { title: 'Permits', kind: 'number', cell: ({ permits }) => countText(permits) },
                  {
                    title: 'Lease left',
                    kind: 'number',
                    cell: ({ holder, remainingMs }) => (
                      <LeaseLeft key={holder} remainingMs={remainingMs} at={semaphore.at} />
                    ),
                  },
                  {
                    ...ACTIONS,
                    cell: (holder) =>
                      mayChange(session, 'locks:admin') && (
                        <ForceRelease name={name} holder={holder} done={semaphore.reload} />
                      ),
                  },
                ]}
              />
            )}
          </>
        )}
      </Read>
    </>
  );
}

function ForceRelease(props: {
  readonly name: string;
  readonly holder: PermitHolder;
  readonly done: () => void;
}): JSX.Element {
  const { name, done } = props;
  const { holder, owner, permits } = props.holder;
  const count = plural(permits, 'permit');
  return (
    <ActionButton
      label="Force release"
      title={`Take ${count} of ${name} from its holder`}
      submit="Release"
      isDanger
      run={() => call('POST', path`semaphores/${name}/force-release`, { body: { holder } })}
      told={`${owner ?? holder} has lost ${count}.`}
      done={done}
    >
      <p>
        <Holder holder={holder} owner={owner} /> loses {count}, and learns of it at its next renewal. Those
        who wait get them. The other holders keep theirs.
      </p>
    </ActionButton>
  );
}
