import type { Named } from './data.js';

type Verb = 'complete' | 'completeFuzzy' | 'boost';

/** Names with popularity, and a way to complete them: a library, or commands of Redis. */
export interface BookKind {
  readonly name: string;
  readonly version: string;
  /** Its calls. */
  readonly verbs: readonly Verb[];
  /** In which order it promises its answers. */
  readonly order: 'score' | 'alphabet';
  /** Its names are in the memory of the process, and not in Redis. */
  readonly isInProcess?: boolean;
  /** One for all callers of a process, who share what they may share. */
  connect(url: string): BookClient;
}

export interface BookClient {
  /** In the quickest way that it has; the most popular first. */
  load(names: readonly Named[]): Promise<unknown>;
  /** Prepares for callers that each send one call at a time. */
  callers(count: number): Caller[];
}

export interface Caller {
  /** Up to `LIMIT` names. */
  complete(text: string): Promise<readonly string[]> | readonly string[];
  /** The same with a mistake in the text. */
  completeFuzzy?(text: string): Promise<readonly string[]> | readonly string[];
  /** Adds one to the score. */
  boost?(name: string): Promise<unknown>;
}

/** The limit of every answer. */
export const LIMIT = 10;

/** The name of every book. */
export const BOOK_NAME = 'guild:7';
