/** Completion: an address book or recent contacts, typed into as users do, with the time that an answer took. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path, send, withQuery } from '../../http.ts';
import { setQuery, usePlace } from '../../location.ts';
import { useResource } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { QueryInput } from '../../ui/query-input.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { Card, Empty, Figure, Head, Trouble } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Completion {
  readonly name: string;
  readonly display: string;
  readonly score: number;
  readonly matches: readonly { readonly start: number; readonly end: number }[];
}

const SHOWN = 20;
export default function Books({ parts: [kind, name], session }: AreaProps): JSX.Element {
  if (kind === 'contacts' && name !== undefined) return <Contacts key={name} user={name} session={session} />;
  if (kind !== undefined && name === undefined) return <Book key={kind} guild={kind} session={session} />;
  return (
    <>
      <Head title="Autocomplete" />
      <OpenByName parts={['books']} label="Address book of a guild" placeholder="fake-game" />
      <StoredNames
        kind="address-books"
        title="Address book"
        parts={['books']}
        empty="There is no address book."
        hint={
          <NextStep
            code="await new AddressBook(redis, 'fake-game').add({ key: 'frank', display: 'Frank' })"
            guide="autocomplete/address-book"
          >
            The first name makes one.
          </NextStep>
        }
        session={session}
      />
      <OpenByName parts={['books', 'contacts']} label="Recent contacts of a user" placeholder="frank" />
      <StoredNames
        kind="contacts"
        title="User with recent contacts"
        parts={['books', 'contacts']}
        empty="Nobody has recent contacts."
        hint={
          <NextStep
            code="await new RecentContacts(redis).touch('frank', 'bill')"
            guide="autocomplete/recent-contacts"
          >
            The first contact of a user makes the list.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

/** The items for what is typed, and how long they took, ms: at the API, and for this page. */
function useTyped<Item>(addressOf: (prefix: string) => string): {
  prefix: string;
  items: readonly Item[] | undefined;
  times: Times | undefined;
  error: Error | undefined;
  reload: () => void;
} {
  const prefix = usePlace().query.get('prefix') ?? '';
  const address = addressOf(prefix);
  const [round, setRound] = useState(0);
  const [found, setFound] = useState<{ items?: readonly Item[]; times?: Times; error?: Error }>({});
  useEffect(() => {
    const ended = new AbortController();
    const startedAt = performance.now();
    const read = async (): Promise<void> => {
      const answer = await send('GET', address, { signal: ended.signal });
      const { items } = (await answer.json()) as { items: readonly Item[] };
      const [, ms] = /dur=([\d.]+)/.exec(answer.headers.get('server-timing') ?? '') ?? [];
      const pageMs = performance.now() - startedAt;
      setFound({ items, times: { apiMs: ms === undefined ? null : Number(ms), pageMs } });
    };
    read().catch((error: unknown) => !ended.signal.aborted && setFound({ error: error as Error }));
    return () => ended.abort();
  }, [address, round]);
  const { items, times, error } = found;
  return { prefix, items, times, error, reload: () => setRound((before) => before + 1) };
}

interface Times {
  /** Of the call at the API, with its round trip to Redis. Null: the API does not say it. */
  readonly apiMs: number | null;
  /** From the request of this page to its answer. */
  readonly pageMs: number;
}

const US = 1_000;
/** Longer times are in ms. */
const MOST_US_MS = 10;

function shortText(ms: number): string {
  return ms < MOST_US_MS ? `${countText(Math.round(ms * US))} µs` : durationText(ms);
}

function Took({ times }: { readonly times: Times | undefined }): JSX.Element {
  const { apiMs = null, pageMs = 0 } = times ?? {};
  return (
    <Figure
      label="Last completion"
      value={apiMs === null ? '–' : shortText(apiMs)}
      note={
        times ? `at the API, with Redis; ${durationText(pageMs)} for this page` : 'at the API, with Redis'
      }
    />
  );
}

function PrefixField({ prefix }: { readonly prefix: string }): JSX.Element {
  return (
    <label class="field">
      <span>Type a prefix</span>
      <input
        data-filter
        autocomplete="off"
        value={prefix}
        onInput={(event) => setQuery({ prefix: event.currentTarget.value })}
      />
    </label>
  );
}

interface BookProps {
  readonly guild: string;
  readonly session: Session;
}

/** A book is for the members of its guild: one of them has to ask. */
function Book({ guild, session }: BookProps): JSX.Element {
  const by = usePlace().query.get('as') ?? session.subject ?? '';
  return (
    <>
      <Head title={<Bread above={[['Autocomplete', ['books']]]} name={guild} />} />
      <Card>
        <label class="field">
          <span>Ask as a member of the guild</span>
          <QueryInput member="as" placeholder="frank" value={by} />
        </label>
      </Card>
      {by === '' ? (
        <Empty title="Only members of a guild read its book.">
          <span>Write the name of a member above.</span>
        </Empty>
      ) : (
        <BookOf {...{ guild, session, by }} />
      )}
    </>
  );
}

function BookOf({ guild, session, by }: BookProps & { readonly by: string }): JSX.Element {
  const book = useResource<{ size: number }>(withQuery(path`address-books/${guild}`, { by }));
  const typed = useTyped<Completion>((prefix) =>
    withQuery(path`address-books/${guild}/completions`, { by, prefix, limit: SHOWN }),
  );
  const reload = (): void => {
    book.reload();
    typed.reload();
  };
  const remove = async (name: string): Promise<boolean> => {
    const address = withQuery(path`address-books/${guild}/names/${name}`, { by });
    const isDone = await act(`${name} is removed.`, () => call('DELETE', address));
    reload();
    return isDone;
  };
  const mayWrite = mayChange(session, 'autocomplete:write');
  return (
    <>
      <div class="grid">
        <Figure label="Names" value={book.value ? countText(book.value.size) : '–'} note="in this book" />
        <Took times={typed.times} />
      </div>
      <Card title="Completions" actions={mayWrite && <AddButton guild={guild} by={by} done={reload} />}>
        <PrefixField prefix={typed.prefix} />
        {typed.error && <Trouble error={typed.error} />}
        {typed.items?.length === 0 && (
          <Empty title="No name begins so.">
            <span>Type fewer letters, or another word of the name.</span>
          </Empty>
        )}
        {typed.items && typed.items.length > 0 && (
          <Table
            label="Completions"
            rows={typed.items}
            idOf={({ name }) => name}
            columns={[
              { title: 'Shown as', cell: Marked },
              { title: 'Name', cell: ({ name }) => <code class="wide">{name}</code> },
              { title: 'Score', kind: 'number', cell: ({ score }) => score },
              {
                ...ACTIONS,
                cell: ({ name }) =>
                  mayWrite && (
                    <RemoveButton name={name} remove={() => remove(name)}>
                      Nobody finds it in this book any more.
                    </RemoveButton>
                  ),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

/** The parts of the name that match are strong. */
function Marked({ display, matches }: Completion): JSX.Element {
  const pieces: (string | JSX.Element)[] = [];
  let at = 0;
  for (const { start, end } of matches) {
    pieces.push(display.slice(at, start), <strong key={start}>{display.slice(start, end)}</strong>);
    at = end;
  }
  return (
    <span class="wide">
      {pieces}
      {display.slice(at)}
    </span>
  );
}

function AddButton(props: {
  readonly guild: string;
  readonly by: string;
  readonly done: () => void;
}): JSX.Element {
  const { guild, by, done } = props;
  const put = async ({
    name = '',
    display = '',
    score = '',
  }: Readonly<Record<string, string>>): Promise<boolean> => {
    const body = { ...(display !== '' && { display }), ...(score !== '' && { score: Number(score) }) };
    const address = withQuery(path`address-books/${guild}/names/${name}`, { by });
    const isDone = await act(`${name} is in the book.`, () => call('PUT', address, { body }));
    done();
    return isDone;
  };
  return (
    <DialogButton label="Add a name">
      {(close) => (
        <Dialog title={`Add a name to ${guild}`} submit="Add" close={close} onSubmit={put}>
          <Field label="Name">
            <input name="name" required />
          </Field>
          <div class="fields">
            <Field label="Shown as" hint="empty: the name">
              <input name="display" />
            </Field>
            <Field label="Score" hint="higher ones come first">
              <input name="score" type="number" step="any" />
            </Field>
          </div>
        </Dialog>
      )}
    </DialogButton>
  );
}

function Contacts({ user, session }: { readonly user: string; readonly session: Session }): JSX.Element {
  const typed = useTyped<{ contact: string }>((prefix) =>
    withQuery(path`contacts/${user}`, { prefix, limit: SHOWN }),
  );
  const mayWrite = mayChange(session, 'autocomplete:write');
  const change = async (method: 'PUT' | 'DELETE', contact: string, done: string): Promise<boolean> => {
    const isDone = await act(done, () => call(method, path`contacts/${user}/${contact}`));
    typed.reload();
    return isDone;
  };
  const add = ({ contact = '' }: Readonly<Record<string, string>>): Promise<boolean> =>
    change('PUT', contact, `${contact} is the first one.`);
  return (
    <>
      <Head title={<Bread above={[['Autocomplete', ['books']]]} name={`Recent contacts of ${user}`} />} />
      <div class="grid">
        <Took times={typed.times} />
      </div>
      <Card title="Contacts, the last one first" actions={mayWrite && <AddContact user={user} add={add} />}>
        <PrefixField prefix={typed.prefix} />
        {typed.error && <Trouble error={typed.error} />}
        {typed.items?.length === 0 && (
          <Empty title={typed.prefix === '' ? `${user} has no recent contact.` : 'No contact begins so.'}>
            <span>{typed.prefix === '' ? 'The first one makes the list.' : 'Type fewer letters.'}</span>
          </Empty>
        )}
        {typed.items && typed.items.length > 0 && (
          <Table
            label="Contacts"
            rows={typed.items}
            idOf={({ contact }) => contact}
            columns={[
              { title: 'Contact', cell: ({ contact }) => <span class="wide">{contact}</span> },
              {
                ...ACTIONS,
                cell: ({ contact }) =>
                  mayWrite && (
                    <RemoveButton
                      name={contact}
                      remove={() => change('DELETE', contact, `${contact} is removed.`)}
                    >
                      The next message to it brings it back.
                    </RemoveButton>
                  ),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

function AddContact(props: {
  readonly user: string;
  readonly add: (fields: Readonly<Record<string, string>>) => Promise<boolean>;
}): JSX.Element {
  return (
    <DialogButton label="Add a contact">
      {(close) => (
        <Dialog title={`Add a contact of ${props.user}`} submit="Add" close={close} onSubmit={props.add}>
          <Field label="Contact" hint="an id, or an id and a name: frank-7|Frank">
            <input name="contact" required />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}

function RemoveButton(props: {
  readonly name: string;
  readonly remove: () => Promise<boolean>;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <DialogButton label="Remove" isDanger>
      {(close) => (
        <Dialog title={`Remove ${props.name}`} submit="Remove" isDanger close={close} onSubmit={props.remove}>
          <p>{props.children}</p>
        </Dialog>
      )}
    </DialogButton>
  );
}
