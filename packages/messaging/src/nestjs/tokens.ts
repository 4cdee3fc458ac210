import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { Chats } from '../chat/chats.js';
import { Mailboxes } from '../mailbox/mailboxes.js';
import { Files } from '../files/files.js';

/** What the `Mailboxes` of a module are provided as: the class itself, unless the module has a name. */
export function getMailboxesToken(module?: string): InjectionToken<Mailboxes> {
  return module === undefined ? Mailboxes : `Mailboxes of MessagingModule ${JSON.stringify(module)}`;
}

/** What the `Chats` of a module are provided as: the class itself, unless the module has a name. */
export function getChatsToken(module?: string): InjectionToken<Chats> {
  return module === undefined ? Chats : `Chats of MessagingModule ${JSON.stringify(module)}`;
}

/** What the `Files` of a module are provided as: the class itself, unless the module has a name. */
export function getFilesToken(module?: string): InjectionToken<Files> {
  return module === undefined ? Files : `Files of MessagingModule ${JSON.stringify(module)}`;
}

/** Injects the `Mailboxes` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectMailboxes(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getMailboxesToken(module));
}

/** Injects the `Chats` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectChats(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getChatsToken(module));
}

/** Injects the `Files` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectFiles(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getFilesToken(module));
}
