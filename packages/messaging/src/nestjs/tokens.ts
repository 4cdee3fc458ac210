import { featureTokenOf, injectorOf, rootTokenOf } from '@mortise/redis/nestjs';
import { Chats } from '../chats.js';
import { Files } from '../files/files.js';
import { Mailboxes } from '../mailboxes.js';

/** The token of a module's `Mailboxes`: the class itself, unless the module has a name. */
export const getMailboxesToken = rootTokenOf('Messaging', Mailboxes);

/** The token of a module's `Chats`: the class itself, unless the module has a name. */
export const getChatsToken = rootTokenOf('Messaging', Chats);

/** The token of a module's `Files`: the class itself, unless the module has a name. */
export const getFilesToken = rootTokenOf('Messaging', Files);

/** The token of a sender of `forFeature`, by the name of its channel. */
export const getFileSenderToken = featureTokenOf('Messaging', 'file sender');

/** The token of a receiver of `forFeature`, by the name of its channel. */
export const getFileReceiverToken = featureTokenOf('Messaging', 'file receiver');

/** The token of a channel of `forFeature`, by its name. */
export const getFileChannelToken = featureTokenOf('Messaging', 'file channel');

/** Injects the `Mailboxes` of a module. For a module without a name, the type is enough. */
export const InjectMailboxes = injectorOf(getMailboxesToken);

/** Injects the `Chats` of a module. For a module without a name, the type is enough. */
export const InjectChats = injectorOf(getChatsToken);

/** Injects the `Files` of a module. For a module without a name, the type is enough. */
export const InjectFiles = injectorOf(getFilesToken);

/** Injects a sender of `forFeature`. */
export const InjectFileSender = injectorOf(getFileSenderToken);

/** Injects a receiver of `forFeature`. */
export const InjectFileReceiver = injectorOf(getFileReceiverToken);

/** Injects a channel of `forFeature`. */
export const InjectFileChannel = injectorOf(getFileChannelToken);
