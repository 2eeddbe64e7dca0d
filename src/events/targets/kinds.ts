import type { DeliveryTarget, TargetContext, TargetFactory, TargetKind, TargetSettings } from '../target.ts'
import { azureLogsIngestion } from './azure-logs-ingestion.ts'
import { cloudwatchLogs } from './cloudwatch-logs.ts'
import { firehose } from './firehose.ts'
import { kinesis } from './kinesis.ts'
import { monitoring } from './monitoring.ts'
import { s3 } from './s3.ts'
import { webhook } from './webhook.ts'

/** Every kind of target; a declared kind without a factory does not compile. */
const targetKinds = {
  firehose,
  kinesis,
  cloudwatch_logs: cloudwatchLogs,
  monitoring,
  azure_logs_ingestion: azureLogsIngestion,
  s3,
  webhook,
} satisfies { [K in TargetKind]: TargetFactory<K> }

/** The kind of target of a destination. */
function targetKind(settings: TargetSettings): TargetKind {
  const kinds = Object.keys(targetKinds) as TargetKind[]
  const kind = kinds.find((each) => (settings[each] ?? null) !== null)
  if (kind === undefined) throw new Error('The destination has no target.')
  return kind
}

/** Creates the target of a destination. */
export function createTarget(settings: TargetSettings, context: TargetContext): DeliveryTarget {
  const kind = targetKind(settings)
  const make = targetKinds[kind] as TargetFactory<typeof kind>
  return make(settings[kind] as never, context)
}
