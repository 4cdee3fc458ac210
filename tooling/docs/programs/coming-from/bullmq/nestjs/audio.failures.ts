import { OnQueueEvent, QueueEventsHost, QueueEventsListener } from '@nestjs/bullmq';

@QueueEventsListener('audio')
export class AudioFailures extends QueueEventsHost {
  readonly reasons: string[] = [];

  @OnQueueEvent('failed')
  onFailed({ failedReason }: { failedReason: string }): void {
    this.reasons.push(failedReason);
  }

  @OnQueueEvent('progress')
  onProgress({ data }: { data: unknown }): void {
    this.reasons.push(`progress ${String(data)}`);
  }
}
