export type { MessagingModuleOptions, MessagingOptionsFactory } from './messaging.module.js';
export { MessagingModule } from './messaging.module.js';
export { getChatsToken, getMailboxesToken, InjectChats, InjectMailboxes } from './tokens.js';
