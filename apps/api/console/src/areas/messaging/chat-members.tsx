/** The members of a chat with how far each has read. One that is far behind keeps messages of all: it can be moved on, or removed. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { hrefOf, Link } from '../../location.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Field } from '../../ui/dialog.tsx';
import { Card, State } from '../../ui/elements.tsx';
import type { Pages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { ACTIONS } from '../../ui/table.tsx';
import { countText, plural } from '../../ui/text.ts';

export interface Member {
  readonly member: string;
  readonly ackedId: number;
  readonly role: string;
}

const COMMON_ROLE = 'member';

interface Props {
  readonly chatId: string;
  readonly members: Pages<Member>;
  /** The id of the newest message. */
  readonly lastId: number;
  readonly mayWrite: boolean;
  readonly done: () => void;
}

export function MembersCard({ chatId, members, lastId, mayWrite, done }: Props): JSX.Element {
  return (
    <Card title="Members" actions={mayWrite && <AddButton chatId={chatId} done={done} />}>
      <TableOf
        pages={members}
        label="Members"
        idOf={({ member }) => member}
        empty="The chat has no members."
        columns={[
          {
            title: 'Member',
            cell: ({ member, role }) => (
              <span class="row">
                <Link class="wide" href={hrefOf(['members', member])}>
                  {member}
                </Link>
                {role !== COMMON_ROLE && <State tone="quiet">{role}</State>}
              </span>
            ),
          },
          {
            title: 'Acked',
            kind: 'number',
            cell: ({ ackedId }) => `${countText(ackedId)} of ${countText(lastId)}`,
          },
          {
            ...ACTIONS,
            cell: ({ member, ackedId }) =>
              mayWrite && (
                <span class="row">
                  {ackedId < lastId && <AdvanceButton {...{ chatId, member, ackedId, lastId, done }} />}
                  <RemoveButton {...{ chatId, member, done }} unread={lastId - ackedId} />
                </span>
              ),
          },
        ]}
      />
    </Card>
  );
}

interface ActionProps {
  readonly chatId: string;
  readonly done: () => void;
}

function AddButton({ chatId, done }: ActionProps): JSX.Element {
  return (
    <ActionButton
      label="Add"
      title={`Add a member to ${chatId}`}
      run={({ member = '' }) => call('PUT', path`chats/${chatId}/members/${member}`, { body: {} })}
      told={({ member }) => `${member} is in the chat.`}
      done={done}
    >
      <Field label="Name" hint="gets the messages from now on">
        <input name="member" required autocomplete="off" />
      </Field>
    </ActionButton>
  );
}

interface MemberProps extends ActionProps {
  readonly member: string;
}

function AdvanceButton({
  chatId,
  member,
  ackedId,
  lastId,
  done,
}: MemberProps & { readonly ackedId: number; readonly lastId: number }): JSX.Element {
  const unread = plural(lastId - ackedId, 'message');
  return (
    <ActionButton
      label="Advance"
      title={`Ack ${unread} for ${member}`}
      submit={`Ack ${unread}`}
      isDanger
      run={() => call('PUT', path`chats/${chatId}/members/${member}/cursor`, { body: { upToId: lastId } })}
      told={`${member} has nothing unread.`}
      done={done}
    >
      <p>{member} never gets these messages again. Messages that all members have acked are deleted.</p>
    </ActionButton>
  );
}

function RemoveButton({
  chatId,
  member,
  unread,
  done,
}: MemberProps & { readonly unread: number }): JSX.Element {
  return (
    <ActionButton
      label="Remove"
      title={`Remove ${member} from ${chatId}`}
      isDanger
      run={() => call('DELETE', path`chats/${chatId}/members/${member}`)}
      told={`${member} is not in the chat any more.`}
      done={done}
    >
      <p>
        {member} gets no more messages of it
        {unread > 0 && `, also not the ${plural(unread, 'message')} that it has not acked`}. A chat ends with
        its last member.
      </p>
    </ActionButton>
  );
}
