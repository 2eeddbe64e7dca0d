import { parseArn } from '../aws/arn.ts'
import { createAwsCaller } from '../aws/caller.ts'
import {
  attemptSignal,
  type DeliveryOutcome,
  delivered,
  type OutboundEvent,
  type TargetFactory,
  toFailure,
} from '../target.ts'

// The service accepts 1 MiB per request and adds 26 bytes for each event.
const MAX_EVENTS = 5000
const MAX_BYTES = 1024 * 1024 - 26 * MAX_EVENTS
const MAX_BATCH_SPAN_MS = 23 * 60 * 60 * 1000

/** A CloudWatch log group; events go to a log stream with the id of the destination. */
export const cloudwatchLogs: TargetFactory<'cloudwatch_logs'> = ({ auth, log_group_arn }, context) => {
  const { region, resource } = parseArn(log_group_arn)
  const stream = {
    logGroupName: resource.replace(/^log-group:/, '').replace(/:\*$/, ''),
    logStreamName: context.destinationId,
  }
  const call = createAwsCaller({
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

  async function put(events: readonly OutboundEvent[], signal: AbortSignal): Promise<DeliveryOutcome[]> {
    const { rejectedLogEventsInfo: rejected } = await call(
      async ({ client, CreateLogStreamCommand, PutLogEventsCommand }) => {
        const command = new PutLogEventsCommand({
          ...stream,
          logEvents: events.map(({ time, body }) => ({ timestamp: time, message: body })),
        })
        try {
          return await client.send(command, { abortSignal: attemptSignal(signal, context) })
        } catch (error) {
          if ((error as Error).name !== 'ResourceNotFoundException') throw error
        }
        // Another node may have created the stream meanwhile; this call fails if the group is missing.
        await client
          .send(new CreateLogStreamCommand(stream), { abortSignal: attemptSignal(signal, context) })
          .catch((error) => {
            if ((error as Error).name !== 'ResourceAlreadyExistsException') throw error
          })
        return client.send(command, { abortSignal: attemptSignal(signal, context) })
      },
    )
    const oldCount = Math.max(rejected?.tooOldLogEventEndIndex ?? 0, rejected?.expiredLogEventEndIndex ?? 0)
    const futureIndex = rejected?.tooNewLogEventStartIndex ?? events.length
    return events.map((_, index): DeliveryOutcome => {
      if (index < oldCount)
        return { delivered: false, error: 'The event is too old for the log group.', final: true }
      if (index >= futureIndex)
        return { delivered: false, error: 'The event lies in the future by the clock of the log group.' }
      return delivered
    })
  }

  return {
    limits: { maxEvents: MAX_EVENTS, maxBytes: MAX_BYTES, maxEventBytes: 250_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const outcomes = new Map<OutboundEvent, DeliveryOutcome>()
      for (const group of splitBySpan(batch)) {
        const results = await put(group, signal).catch((error) => group.map(() => toFailure(error)))
        for (const [index, event] of group.entries()) outcomes.set(event, results[index]!)
      }
      return batch.map((event) => outcomes.get(event)!)
    },
  }
}

/** The service requires the events of a request in order of time and within a day. */
function splitBySpan(batch: readonly OutboundEvent[]): OutboundEvent[][] {
  const groups: OutboundEvent[][] = []
  for (const event of batch.toSorted((a, b) => a.time - b.time)) {
    const last = groups.at(-1)
    if (last !== undefined && event.time - last[0]!.time < MAX_BATCH_SPAN_MS) last.push(event)
    else groups.push([event])
  }
  return groups
}
