/** Chats, tasks and events of the HTTP API in a browser. Hooks of React: `@mortise/client/react`. */
export { ChatMember } from './chat-member.js';
export type { PostOptions } from './chat-member.js';
export { MortiseClient } from './client.js';
export type {
  ClientOptions,
  ClientState,
  Credential,
  Follower,
  GapReason,
  RequestOptions,
} from './client.js';
export { ProblemError } from './problem-error.js';
export { watchTask } from './task-watch.js';
export type { TaskListener, TaskView } from './task-watch.js';
export { topicOf } from './topics.js';
export type {
  CacheEvent,
  ChatEvent,
  ChatMessage,
  LockEvent,
  MailboxEvent,
  OtherEvent,
  QueueEvent,
  TopicEvent,
} from './topics.js';
