import { readArn } from '../aws/arn.ts'
import { createCaller } from '../aws/caller.ts'
import { attempt, delivered, failed, type Outcome, type Parcel, type TargetMaker } from './target.ts'

// The service takes 1 MiB at a time and counts 26 bytes more for each event.
const MAX_EVENTS = 5000
const MAX_BYTES = 1024 * 1024 - 26 * MAX_EVENTS
const SPAN_MS = 23 * 60 * 60 * 1000

/** A CloudWatch log group; events go to a log stream named after the destination. */
export const cloudwatchLogs: TargetMaker<'cloudwatch_logs'> = ({ auth, log_group_arn }, context) => {
  const { region, resource } = readArn(log_group_arn)
  const stream = {
    logGroupName: resource.replace(/^log-group:/, '').replace(/:\*$/, ''),
    logStreamName: context.destinationId,
  }
  const call = createCaller({
    auth,
    region,
    endpoint: context.endpoints.cloudwatch_logs,
    context,
    async connect(config) {
      const { CloudWatchLogsClient, CreateLogStreamCommand, PutLogEventsCommand } = await import(
        '@aws-sdk/client-cloudwatch-logs'
      )
      return { client: new CloudWatchLogsClient(config), CreateLogStreamCommand, PutLogEventsCommand }
    },
  })

  async function put(parcels: readonly Parcel[], signal: AbortSignal): Promise<Outcome[]> {
    const { rejectedLogEventsInfo: rejected } = await call(
      async ({ client, CreateLogStreamCommand, PutLogEventsCommand }) => {
        const command = new PutLogEventsCommand({
          ...stream,
          logEvents: parcels.map(({ at, body }) => ({ timestamp: at, message: body })),
        })
        try {
          return await client.send(command, { abortSignal: attempt(signal, context) })
        } catch (error) {
          if ((error as Error).name !== 'ResourceNotFoundException') throw error
        }
        // Another node may have made the stream meanwhile; a missing group is told by this call.
        await client
          .send(new CreateLogStreamCommand(stream), { abortSignal: attempt(signal, context) })
          .catch((error) => {
            if ((error as Error).name !== 'ResourceAlreadyExistsException') throw error
          })
        return client.send(command, { abortSignal: attempt(signal, context) })
      },
    )
    const old = Math.max(rejected?.tooOldLogEventEndIndex ?? 0, rejected?.expiredLogEventEndIndex ?? 0)
    const early = rejected?.tooNewLogEventStartIndex ?? parcels.length
    return parcels.map((_, index): Outcome => {
      if (index < old)
        return { delivered: false, error: 'The event is too old for the log group.', final: true }
      if (index >= early)
        return { delivered: false, error: 'The event lies in the future by the clock of the log group.' }
      return delivered
    })
  }

  return {
    limits: { maxEvents: MAX_EVENTS, maxBytes: MAX_BYTES, maxEventBytes: 250_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const outcomes = new Map<Parcel, Outcome>()
      for (const span of spans(batch)) {
        const answers = await put(span, signal).catch((error) => span.map(() => failed(error)))
        for (const [index, parcel] of span.entries()) outcomes.set(parcel, answers[index]!)
      }
      return batch.map((parcel) => outcomes.get(parcel)!)
    },
  }
}

/** The service wants the events of a request in order of time, and from less than a day. */
function spans(batch: readonly Parcel[]): Parcel[][] {
  const all: Parcel[][] = []
  for (const parcel of batch.toSorted((a, b) => a.at - b.at)) {
    const last = all.at(-1)
    if (last !== undefined && parcel.at - last[0]!.at < SPAN_MS) last.push(parcel)
    else all.push([parcel])
  }
  return all
}
