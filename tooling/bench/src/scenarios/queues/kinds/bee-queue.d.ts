/** bee-queue's own types need those of its Redis client, which are another package. The used members. */
declare module 'bee-queue' {
  interface QueueSettings {
    redis?: { url: string };
    isWorker?: boolean;
    getEvents?: boolean;
    sendEvents?: boolean;
    storeJobs?: boolean;
    activateDelayedJobs?: boolean;
    delayedDebounce?: number;
    removeOnSuccess?: boolean;
  }

  interface Job<Data> {
    readonly data: Data;
    delayUntil(at: number): this;
    save(): Promise<this>;
  }

  export default class Queue<Data> {
    constructor(name: string, settings: QueueSettings);
    ready(): Promise<this>;
    createJob(data: Data): Job<Data>;
    saveAll(jobs: readonly Job<Data>[]): Promise<Map<Job<Data>, Error>>;
    process(concurrency: number, handler: (job: Job<Data>) => Promise<unknown>): void;
    checkStalledJobs(intervalMs: number): Promise<number>;
    on(event: 'error', listener: (error: Error) => void): this;
    close(timeoutMs: number): Promise<void>;
  }
}
