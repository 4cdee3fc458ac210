/** The chats of a member with what is unread in each. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import { hrefOf, Link } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import { Bread } from '../../ui/bread.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { Empty, Head, Read, State, Time } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { countText } from '../../ui/text.ts';

interface Joined {
  readonly chatId: string;
  readonly unread: number;
  readonly lastId: number;
  readonly ackedId: number;
  readonly isMuted: boolean;
  readonly lastAt: number;
}

export default function Members({ parts: [member], session }: AreaProps): JSX.Element {
  if (member !== undefined) return <OneMember key={member} member={member} />;
  return (
    <>
      <Head title="Members" />
      <OpenByName parts={['members']} label="Name of a member" placeholder="frank" />
      <StoredNames
        kind="members"
        title="Member"
        parts={['members']}
        empty="Nobody is in a chat."
        hint={
          <NextStep
            code="await new Chats(redis).create({ sender: 'frank', members: ['bill'], body: 'At noon?' })"
            guide="messaging/chat"
          >
            A member is here while it is in a chat.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

function OneMember({ member }: { readonly member: string }): JSX.Element {
  const chats = useResource<{ items: readonly Joined[] }>(
    withQuery(path`members/${member}/chats`, { includeMuted: true }),
  );
  const reload = useThrottled(chats.reload);
  useTopic(`member:${encodeURIComponent(member)}`, reload, reload);
  return (
    <>
      <Head title={<Bread above={[['Members', ['members']]]} name={member} />} />
      <Read of={chats}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={`${member} is in no chat.`} />
          ) : (
            <Table
              label="Chats"
              rows={items}
              idOf={({ chatId }) => chatId}
              columns={[
                {
                  title: 'Chat',
                  cell: ({ chatId, isMuted }) => (
                    <span class="row">
                      <Link class="wide" href={hrefOf(['chats', chatId], { as: member })}>
                        {chatId}
                      </Link>
                      {isMuted && <State tone="quiet">muted</State>}
                    </span>
                  ),
                },
                { title: 'Unread', kind: 'number', cell: ({ unread }) => countText(unread) },
                { title: 'Last message', kind: 'number', cell: ({ lastId }) => countText(lastId) },
                { title: 'Acked up to', kind: 'number', cell: ({ ackedId }) => countText(ackedId) },
                { title: 'When', kind: 'fit', cell: ({ lastAt }) => <Time at={lastAt || undefined} /> },
              ]}
            />
          )
        }
      </Read>
    </>
  );
}
