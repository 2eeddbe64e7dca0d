import type { EventDestinationStatus } from '../../../../api-client/index.ts'

/** Describes the delivery status in a label and a sentence. */
export function describeDelivery({
  last_success_at,
  last_error_at,
  backlog,
  dead,
  disabled,
}: EventDestinationStatus): {
  tone: 'good' | 'info' | 'warn' | 'bad'
  short: string
  text: string
} {
  const failing = last_error_at !== null && (last_success_at === null || last_error_at > last_success_at)
  const backlogText =
    backlog === 0
      ? 'No events are queued.'
      : backlog === 1
        ? 'One event is queued.'
        : `${backlog.toLocaleString('en')} events are queued.`
  if (disabled)
    return {
      tone: 'bad',
      short: 'stopped',
      text: `The destination reported that it is permanently gone. It receives no more events until it is changed or accepts a test event. ${backlogText}`,
    }
  if (failing)
    return {
      tone: 'warn',
      short: 'failing',
      text: `The last delivery failed and will be retried. ${backlogText}`,
    }
  if (last_success_at === null)
    return {
      tone: 'info',
      short: 'unused',
      text: `Nothing has been sent yet. Send a test event, or subscribe it to events. ${backlogText}`,
    }
  const deadLetterText = dead > 0 ? ` ${dead.toLocaleString('en')} earlier events were not delivered.` : ''
  return {
    tone: dead > 0 ? 'warn' : 'good',
    short: 'delivering',
    text: `The last delivery succeeded. ${backlogText}${deadLetterText}`,
  }
}
