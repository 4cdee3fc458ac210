export type { FilesModuleOptions } from '../files/files.js';
export { Files } from '../files/files.js';
export type { MessagingModuleOptions, MessagingOptionsFactory } from './messaging.module.js';
export { MessagingModule } from './messaging.module.js';
export {
  getChatsToken,
  getFilesToken,
  getMailboxesToken,
  InjectChats,
  InjectFiles,
  InjectMailboxes,
} from './tokens.js';
