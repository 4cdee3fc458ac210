/** Pauses all queues at once, as before maintenance, or resumes them. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { call, get, path, withQuery } from '../../http.ts';
import { Trouble } from '../../ui/elements.tsx';
import type { Page } from '../../ui/pages.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { plural } from '../../ui/text.ts';
import { tell } from '../../ui/toasts.tsx';

type Verb = 'pause' | 'resume';

const TEXTS = {
  pause: {
    label: 'Pause all',
    done: 'paused',
    effect: 'Workers finish the tasks that run, and start no others until the queues are resumed.',
  },
  resume: { label: 'Resume all', done: 'resumed', effect: 'Workers start tasks of all queues again.' },
} as const;
/** Requests under way. */
const AT_ONCE = 10;
/** The most queues of a page of the API. */
const PAGE = 200;

export function PauseAll(): JSX.Element {
  return (
    <>
      {(['pause', 'resume'] as const).map((verb) => (
        <DialogButton key={verb} label={TEXTS[verb].label} isDanger={verb === 'pause'}>
          {(close) => <AllDialog verb={verb} close={close} />}
        </DialogButton>
      ))}
    </>
  );
}

/** The names of all queues, also of those that the table leaves out. */
async function allNames(signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | null | undefined;
  do {
    const address = withQuery('queues', { limit: PAGE, cursor: cursor ?? undefined });
    const page = await get<Page<{ readonly name: string }>>(address, signal);
    names.push(...page.items.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor);
  return names;
}

function AllDialog({ verb, close }: { readonly verb: Verb; readonly close: () => void }): JSX.Element {
  const [names, setNames] = useState<readonly string[]>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const ended = new AbortController();
    allNames(ended.signal).then(setNames, (reason: unknown) => {
      if (!ended.signal.aborted) setError(reason as Error);
    });
    return () => ended.abort();
  }, []);
  const { label, effect } = TEXTS[verb];
  const what = names ? plural(names.length, 'queue') : 'counting …';
  return (
    <Dialog
      title={`${label}: ${what}`}
      submit={`${verb === 'pause' ? 'Pause' : 'Resume'} ${what}`}
      isDanger={verb === 'pause'}
      isWaiting={names === undefined}
      close={close}
      onSubmit={() => changeAll(verb, names!)}
    >
      {error && <Trouble error={error} />}
      <p>{effect}</p>
    </Dialog>
  );
}

async function changeAll(verb: Verb, names: readonly string[]): Promise<boolean> {
  let changed = 0;
  let failure: Error | undefined;
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const calls = names
      .slice(from, from + AT_ONCE)
      .map((name) => call('POST', `${path`queues/${name}`}/${verb}`));
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'fulfilled') changed += 1;
      else failure = outcome.reason as Error;
    }
  }
  if (changed > 0) tell(`${plural(changed, 'queue')} ${TEXTS[verb].done}.`);
  if (failure) tell(`${plural(names.length - changed, 'queue')} refused: ${failure.message}`, 'bad');
  return failure === undefined;
}
