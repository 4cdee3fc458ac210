/** The area of queues: all of them, one of them, or one of its tasks. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { AllQueues } from './all-queues.tsx';
import { OneQueue } from './queue.tsx';
import { OneTask } from './task.tsx';

export default function Queues({ parts, session }: AreaProps): JSX.Element {
  const [queue, part, id] = parts;
  if (queue === undefined) return <AllQueues session={session} />;
  if (part === 'tasks' && id !== undefined)
    return <OneTask key={`${queue}/${id}`} queue={queue} id={id} session={session} />;
  return <OneQueue key={queue} queue={queue} tab={part ?? 'tasks'} session={session} />;
}
