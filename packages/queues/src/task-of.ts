/** How messages name a task. */
export function taskOf(queue: string, taskId: string): string {
  return `task ${JSON.stringify(taskId)} of queue ${JSON.stringify(queue)}`;
}
