/** Makes a chat with its first message, as one of its members. */
import type { JSX } from 'preact';

import { call } from '../../http.ts';
import { go, hrefOf } from '../../location.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { newId } from '../../ui/new-id.ts';
import { act, tell } from '../../ui/toasts.tsx';

interface Created {
  readonly chatId: string;
  readonly isNew: boolean;
}

export function NewChatButton({ chatId = '' }: { readonly chatId?: string }): JSX.Element {
  return (
    <DialogButton label="New chat">
      {(close) => (
        <Dialog title="New chat" submit="Create" close={close} onSubmit={create}>
          <div class="fields">
            <Field label="Creator" hint="owns the chat">
              <input name="sender" required autocomplete="off" placeholder="frank" />
            </Field>
            <Field label="Id" hint="empty: a random one">
              <input name="chatId" autocomplete="off" defaultValue={chatId} placeholder="guild-42" />
            </Field>
          </div>
          <Field label="Other members" hint="with blanks or commas between them">
            <input name="members" autocomplete="off" placeholder="bill jack451" />
          </Field>
          <Field label="First message">
            <input name="body" required autocomplete="off" />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}

async function create(fields: Readonly<Record<string, string>>): Promise<boolean> {
  const { sender = '', chatId = '', members = '', body = '' } = fields;
  const others = members.split(/[\s,]+/).filter((member) => member !== '' && member !== sender);
  // With an id a repeated request makes no second chat.
  const wanted = { sender, members: [...new Set(others)], body, chatId: chatId.trim() || newId() };
  return act(undefined, async () => {
    const created = await call<Created>('POST', 'chats', { body: wanted });
    if (!created.isNew) throw new Error(`There is a chat ${created.chatId} already: nothing was changed.`);
    tell('The chat is made.');
    go(hrefOf(['chats', created.chatId], { as: sender }));
  });
}
