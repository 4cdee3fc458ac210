import { OnQueueEvent, QueueEventsHost, QueueEventsListener } from '@nestjs/bullmq';

@QueueEventsListener('audio')
export class AudioEvents extends QueueEventsHost {
  readonly results: unknown[] = [];

  @OnQueueEvent('completed')
  onCompleted({ returnvalue }: { returnvalue: unknown }): void {
    this.results.push(returnvalue);
  }
}
