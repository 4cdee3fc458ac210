/** Hooks of React 18 and 19: `@mortise/client/react`. */
export { MortiseProvider, useConnection, useMortise, useTask, useTopic } from './hooks.js';
export { useChat } from './use-chat.js';
export type { Chat, UseChatOptions } from './use-chat.js';
export type { WatchedTask } from './hooks.js';
