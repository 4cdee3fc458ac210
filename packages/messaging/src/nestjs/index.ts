export type { FilesModuleOptions } from '../files/files.js';
export { Files } from '../files/files.js';
export type {
  MessagingFeature,
  MessagingModuleOptions,
  MessagingOptionsFactory,
  NamedReceiverOptions,
} from './messaging.module.js';
export { MessagingModule } from './messaging.module.js';
export {
  getChatsToken,
  getFileChannelToken,
  getFileReceiverToken,
  getFileSenderToken,
  getFilesToken,
  getMailboxesToken,
  InjectChats,
  InjectFileChannel,
  InjectFileReceiver,
  InjectFiles,
  InjectFileSender,
  InjectMailboxes,
} from './tokens.js';
