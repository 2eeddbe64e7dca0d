/** How deliveries to a destination stand, as the API shows it. */
export interface DeliveryStatus {
  readonly last_success_at: string | null
  readonly last_error_at: string | null
  readonly last_error: string | null
  readonly backlog: number
  readonly dead: number
  readonly dropped: number
  readonly disabled: boolean
}

/** The same in a word and a sentence. */
export function describeDelivery({
  last_success_at,
  last_error_at,
  backlog,
  dead,
  disabled,
}: DeliveryStatus): {
  tone: 'good' | 'info' | 'warn' | 'bad'
  short: string
  text: string
} {
  const failing = last_error_at !== null && (last_success_at === null || last_error_at > last_success_at)
  const backlogText =
    backlog === 0
      ? 'Nothing waits.'
      : backlog === 1
        ? 'One event waits.'
        : `${backlog.toLocaleString('en')} events wait.`
  if (disabled)
    return {
      tone: 'bad',
      short: 'stopped',
      text: `It answered that it is gone for good, so it gets nothing more until it is changed or takes a test event. ${backlogText}`,
    }
  if (failing)
    return {
      tone: 'warn',
      short: 'failing',
      text: `The last delivery failed and is tried again. ${backlogText}`,
    }
  if (last_success_at === null)
    return {
      tone: 'info',
      short: 'not used yet',
      text: `Nothing has been sent yet. Send a test event, or subscribe it to events. ${backlogText}`,
    }
  const deadLetterText = dead > 0 ? ` ${dead.toLocaleString('en')} earlier events were given up.` : ''
  return {
    tone: dead > 0 ? 'warn' : 'good',
    short: 'delivering',
    text: `The last delivery went well. ${backlogText}${deadLetterText}`,
  }
}
