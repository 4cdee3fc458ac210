/** Chats: the members of one with how far they have read, and its messages as they come. One can post as somebody. */
import type { JSX, TargetedSubmitEvent } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, isNotFound, path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { usePlace } from '../../location.ts';
import type { Resource } from '../../resource.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { QueryInput } from '../../ui/query-input.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import type { Member } from './chat-members.tsx';
import { MembersCard } from './chat-members.tsx';
import { NewChatButton } from './new-chat.tsx';
import { TrimButton } from './trim.tsx';
import { newId } from '../../ui/new-id.ts';
import type { Pages } from '../../ui/pages.ts';
import { usePages } from '../../ui/pages.ts';
import { Card, Empty, Figure, Head, Read, Time } from '../../ui/elements.tsx';
import { countText, jsonText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Message {
  readonly id: number;
  readonly kind: 'message' | 'edit' | 'delete';
  readonly from: string;
  readonly body?: unknown;
  readonly sentAt: number;
  readonly revises?: number;
}

const SHOWN = 50;

export default function Chats({ parts: [chatId], session }: AreaProps): JSX.Element {
  if (chatId !== undefined) return <OneChat key={chatId} chatId={chatId} session={session} />;
  return (
    <>
      <Head title="Chats">{mayChange(session, 'messaging:write') && <NewChatButton />}</Head>
      <OpenByName parts={['chats']} label="Id of a chat" placeholder="guild-42" />
      <StoredNames
        kind="chats"
        title="Chat"
        parts={['chats']}
        empty="There is no chat."
        hint={
          <NextStep
            code="await new Chats(redis).create({ sender: 'frank', members: ['bill'], body: 'At noon?' })"
            guide="messaging/chat"
          >
            Make one with “New chat”, or in a program.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

function OneChat({ chatId, session }: { readonly chatId: string; readonly session: Session }): JSX.Element {
  const members = usePages<Member>(withQuery(path`chats/${chatId}/members`, { limit: 100 }));
  // The newest ones: before any id.
  const messages = useResource<{ items: readonly Message[] }>(
    withQuery(path`chats/${chatId}/messages`, { limit: SHOWN, before: Number.MAX_SAFE_INTEGER }),
  );
  const oldest = useResource<{ items: readonly Message[] }>(
    withQuery(path`chats/${chatId}/messages`, { limit: 1, after: 0 }),
  );
  const reloadMembers = useThrottled(members.refresh);
  const readMessages = useCallback(() => {
    messages.reload();
    oldest.reload();
  }, [messages.reload, oldest.reload]);
  const reloadMessages = useThrottled(readMessages);
  const reload = useCallback(() => {
    reloadMessages();
    reloadMembers();
  }, [reloadMembers, reloadMessages]);
  const watched = members.items?.[0]?.member;
  useTopic(
    watched === undefined ? undefined : `member:${encodeURIComponent(watched)}`,
    useCallback(
      (event: LiveEvent) => {
        if (event['chatId'] === chatId) reload();
      },
      [chatId, reload],
    ),
    reload,
  );
  const mayWrite = mayChange(session, 'messaging:write');
  const done = (): void => {
    members.reload();
    readMessages();
  };
  const shown = { members, messages, oldest };
  const { lastId, stored } = figuresOf(shown);
  const head = <Bread above={[['Chats', ['chats']]]} name={chatId} />;
  if (isNotFound(messages.error)) return <NoChat head={head} chatId={chatId} session={session} />;
  return (
    <>
      <Head title={head}>
        {mayWrite && (
          <TrimButton
            name={chatId}
            stored={stored}
            lastId={lastId}
            effect="Members who had not read them get none of them."
            trim={(upToId) => call('DELETE', withQuery(path`chats/${chatId}/messages`, { upToId }))}
            done={done}
          />
        )}
      </Head>
      <Figures {...shown} />
      <div class="columns">
        <Card title="Messages">
          <Read of={messages}>{({ items }) => <Log items={items} />}</Read>
          {mayWrite && <PostForm chatId={chatId} done={readMessages} />}
        </Card>
        <MembersCard chatId={chatId} members={members} lastId={lastId} mayWrite={mayWrite} done={done} />
      </div>
    </>
  );
}

interface Shown {
  readonly members: Pages<Member>;
  readonly messages: Resource<{ items: readonly Message[] }>;
  /** The first message that is stored. */
  readonly oldest: Resource<{ items: readonly Message[] }>;
}

/** The newest id, and how many ids are stored: ids have no gaps. Without a stored message, the members have acked the newest one. */
function figuresOf({ members, messages, oldest }: Shown): {
  readonly lastId: number;
  readonly stored: number;
} {
  const newest = messages.value?.items.at(-1)?.id;
  const first = oldest.value?.items[0]?.id;
  return {
    lastId: newest ?? Math.max(0, ...(members.items ?? []).map(({ ackedId }) => ackedId)),
    stored: newest === undefined || first === undefined ? 0 : newest - first + 1,
  };
}

function Figures(shown: Shown): JSX.Element {
  const { members, messages, oldest } = shown;
  const { lastId, stored } = figuresOf(shown);
  const slowest = members.items?.reduce<Member | undefined>(
    (most, each) => (most === undefined || each.ackedId < most.ackedId ? each : most),
    undefined,
  );
  return (
    <div class="grid">
      <Figure
        label="Members"
        value={countText(members.items?.length ?? 0)}
        note={members.more ? 'and more' : ' '}
      />
      <Figure
        label="Last message"
        value={countText(lastId)}
        note={<Time at={messages.value?.items.at(-1)?.sentAt} />}
      />
      <Figure
        label="Stored"
        value={plural(stored, 'message')}
        note={
          stored > 0 ? (
            <>
              the oldest sent <Time at={oldest.value?.items[0]?.sentAt} />
            </>
          ) : (
            'all members have read all'
          )
        }
      />
      <Figure
        label="Slowest member"
        value={slowest ? plural(Math.max(0, lastId - slowest.ackedId), 'message') : '–'}
        note={slowest ? `${slowest.member} is behind by these` : ' '}
      />
    </div>
  );
}

/** A chat that ended, or one that nobody has made. */
function NoChat(props: {
  readonly head: JSX.Element;
  readonly chatId: string;
  readonly session: Session;
}): JSX.Element {
  const { head, chatId, session } = props;
  const mayWrite = mayChange(session, 'messaging:write');
  return (
    <>
      <Head title={head}>{mayWrite && <NewChatButton chatId={chatId} />}</Head>
      <Empty title="There is no such chat.">
        <span>A chat ends when its last member leaves. Its id can then be used for a new one.</span>
      </Empty>
    </>
  );
}

function Log({ items }: { readonly items: readonly Message[] }): JSX.Element {
  if (items.length === 0) return <Empty title="No message is stored: all members have read them." />;
  return (
    <ol class="timeline" aria-live="polite">
      {items.map(({ id, kind, from, body, sentAt, revises }) => (
        <li key={id} data-tone={kind === 'delete' ? 'bad' : kind === 'edit' ? 'wait' : 'busy'}>
          <strong>{from}</strong>{' '}
          <span class="muted small">
            {id}
            {revises !== undefined && ` ${kind === 'edit' ? 'edits' : 'deletes'} ${revises}`},{' '}
            <Time at={sentAt} />
          </span>
          {body !== undefined && (
            <div class="wide">{typeof body === 'string' ? body : <pre>{jsonText(body)}</pre>}</div>
          )}
        </li>
      ))}
    </ol>
  );
}

function PostForm({ chatId, done }: { readonly chatId: string; readonly done: () => void }): JSX.Element {
  const sender = usePlace().query.get('as') ?? '';
  const [text, setText] = useState('');
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const body = { sender, body: text, id: newId() };
    if (await act('Posted.', () => call('POST', path`chats/${chatId}/messages`, { body }))) setText('');
    done();
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      <div class="fields">
        <label class="field">
          <span>Post as</span>
          <QueryInput member="as" required value={sender} />
        </label>
        <label class="field">
          <span>Message</span>
          <input required value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      </div>
      <div class="row">
        <button class="primary" type="submit">
          Post
        </button>
      </div>
    </form>
  );
}
