/** Rate limits that somebody uses at the moment: a limit can be lifted once, so that its whole burst is there again. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { Empty, Head } from '../../ui/elements.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { act } from '../../ui/toasts.tsx';

interface Named {
  readonly name: string;
}

export default function RateLimits({ session }: AreaProps): JSX.Element {
  const mayList = mayDo(session, 'ops:read');
  const names = usePages<Named>(mayList ? 'names/rate-limiters' : undefined);
  const reset = async (name: string): Promise<boolean> => {
    const isDone = await act(`${name} has its whole burst again.`, () =>
      call('DELETE', path`rate-limiters/${name}`),
    );
    names.reload();
    return isDone;
  };
  return (
    <>
      <Head title="Rate limits">
        <button type="button" onClick={names.reload}>
          Read again
        </button>
      </Head>
      {mayList ? (
        <TableOf
          pages={names}
          label="Rate limits in use"
          idOf={({ name }) => name}
          empty="No rate limit is in use."
          hint={
            <NextStep
              code="await new RateLimiter(redis, 'mails', { limit: 30, periodMs: 60_000 }).take()"
              guide="locks/rate-limits"
            >
              A limit is here until all of its burst is there again.
            </NextStep>
          }
          columns={[
            { title: 'Rate limit', cell: ({ name }) => <span class="wide">{name}</span> },
            {
              title: <span class="hidden-text">Actions</span>,
              kind: 'fit',
              cell: ({ name }) =>
                mayChange(session, 'locks:admin') && (
                  <DialogButton label="Reset" isDanger>
                    {(close) => (
                      <Dialog
                        title={`Reset ${name}`}
                        submit="Reset"
                        isDanger
                        close={close}
                        onSubmit={() => reset(name)}
                      >
                        <p>Callers that were refused may call at once.</p>
                      </Dialog>
                    )}
                  </DialogButton>
                ),
            },
          ]}
        />
      ) : (
        <Empty title="The list needs the scope ops:read." />
      )}
    </>
  );
}
