import { rootToken } from '@mortise/redis/nestjs';
import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { Chats } from '../chats.js';
import { Files } from '../files/files.js';
import { Mailboxes } from '../mailboxes.js';

/** The token of a module's `Mailboxes`: the class itself, unless the module has a name. */
export function getMailboxesToken(module?: string): InjectionToken<Mailboxes> {
  return rootToken('Messaging', Mailboxes, module);
}

/** The token of a module's `Chats`: the class itself, unless the module has a name. */
export function getChatsToken(module?: string): InjectionToken<Chats> {
  return rootToken('Messaging', Chats, module);
}

/** The token of a module's `Files`: the class itself, unless the module has a name. */
export function getFilesToken(module?: string): InjectionToken<Files> {
  return rootToken('Messaging', Files, module);
}

/** Injects the `Mailboxes` of a module. Without a name, the type alone also injects them. */
export function InjectMailboxes(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getMailboxesToken(module));
}

/** Injects the `Chats` of a module. Without a name, the type alone also injects them. */
export function InjectChats(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getChatsToken(module));
}

/** Injects the `Files` of a module. Without a name, the type alone also injects them. */
export function InjectFiles(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getFilesToken(module));
}
