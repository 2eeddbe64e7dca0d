import { common, defineResource, editable, live } from './schema/define.ts'
import { httpUrl } from './schema/formats.ts'
import {
  described,
  flag,
  integer,
  matching,
  nonEmpty,
  nullable,
  object,
  required,
  secret,
  text,
} from './schema/value.ts'

/** Standard Webhooks writes a key as `whsec_` and base64. */
const ENCODED_KEY = /^whsec_([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/

function webhookSecret(value: string): string | undefined {
  if (value.startsWith('whsec_') && !ENCODED_KEY.test(value))
    return 'begins with whsec_, so the rest must be a key in base64, such as openssl rand -base64 32 prints.'
  return value === '' ? 'must not be empty.' : undefined
}

/** Partition and region become part of the host name of the request. */
const PARTITION = /^aws(-[a-z]{1,16})*$/
const REGION = /^[a-z0-9-]{0,32}$/

/** An AWS resource name, such as `arn:aws:kinesis:us-east-1:123456789012:stream/name`. */
function arn(service: string, resource: RegExp, example: string) {
  return required(
    text(2048, (value) => {
      const parts = value.split(':')
      const [prefix, partition = '', arnService, region = ''] = parts
      const matches =
        prefix === 'arn' &&
        PARTITION.test(partition) &&
        arnService === service &&
        REGION.test(region) &&
        resource.test(parts.slice(5).join(':'))
      return matches ? undefined : `"${value}" is not of the form ${example}.`
    }),
  )
}

const auth = described(
  required(
    object(
      {
        role: described(
          nullable(
            object(
              {
                role_arn: described(
                  arn('iam', /^role\/.+/, 'arn:aws:iam::<account>:role/<name>'),
                  'The ARN of the role.',
                ),
              },
              { name: 'CloudRole' },
            ),
          ),
          'A role to assume.',
        ),
        creds: described(
          nullable(
            object(
              {
                cloud_access_key_id: described(required(nonEmpty(255)), 'The ID of the access key.'),
                cloud_secret_access_key: described(
                  required(secret(nonEmpty(1024), 'redacted')),
                  'The secret of the access key. Never shown again.',
                ),
              },
              { name: 'CloudCredentials' },
            ),
          ),
          'A long-term access key.',
        ),
      },
      {
        name: 'CloudAuth',
        rule: ({ role, creds }) =>
          (role === null) === (creds === null) ? 'exactly one of role and creds must be given.' : undefined,
      },
    ),
  ),
  'How to authenticate with AWS: a role or an access key.',
)

const firehose = object({
  auth,
  delivery_stream_arn: described(
    arn('firehose', /^deliverystream\/.+/, 'arn:aws:firehose:<region>:<account>:deliverystream/<name>'),
    'The ARN of the delivery stream.',
  ),
})

const kinesis = object({
  auth,
  stream_arn: described(
    arn('kinesis', /^stream\/.+/, 'arn:aws:kinesis:<region>:<account>:stream/<name>'),
    'The ARN of the stream.',
  ),
})

const cloudWatchLogs = object({
  auth,
  log_group_arn: described(
    arn('logs', /^log-group:.+/, 'arn:aws:logs:<region>:<account>:log-group:<name>'),
    'The ARN of the log group.',
  ),
})

const datadog = object({
  api_key: described(required(secret(nonEmpty(1024), 'redacted')), 'The Datadog API key. Never shown again.'),
  ddtags: described(text(4096), 'Tags to send with events.'),
  service: described(text(255), 'The service name to send with events.'),
  ddsite: described(
    text(255, (value) =>
      value === '' || /^[a-z0-9.-]+(:[0-9]+)?$/i.test(value)
        ? undefined
        : `"${value}" is not a site, such as datadoghq.com.`,
    ),
    'The Datadog site, such as datadoghq.eu.',
  ),
})

const azureMonitor = object({
  tenant_id: described(required(nonEmpty(255)), 'The ID of the tenant.'),
  client_id: described(required(nonEmpty(255)), 'The ID of the application.', 'your client ID'),
  client_secret: described(
    required(secret(nonEmpty(1024), 'redacted')),
    'The secret of the application. Never shown again.',
    'your client secret',
  ),
  logs_ingestion_uri: described(required(httpUrl(2048)), 'The URL of the logs ingestion endpoint.'),
  data_collection_rule_id: described(
    required(nonEmpty(255)),
    'The immutable ID of the data collection rule.',
  ),
  data_collection_stream_name: described(
    required(nonEmpty(255)),
    'The name of the stream in the data collection rule.',
  ),
})

const s3 = object({
  auth,
  bucket_arn: described(arn('s3', /^[a-z0-9.-]{3,63}$/, 'arn:aws:s3:::<bucket>'), 'The ARN of the bucket.'),
  object_prefix: described(text(512), 'The prefix of the object names.'),
  compression: described(flag(false), 'Whether to compress objects with gzip.'),
  max_file_size: described(integer(1, 1_073_741_824, 5_242_880), 'The maximum size of an object in bytes.'),
  max_file_age: described(
    integer(1, 86_400, 300),
    'The maximum time in seconds before an object is written.',
  ),
})

const webhook = object({
  url: described(required(httpUrl(2048)), 'The URL that receives the events.'),
  secret: described(
    required(secret(text(255, webhookSecret), 'redacted')),
    'The secret with which requests are signed. Never shown again.',
  ),
})

/** The target of a destination: one member is set, the others are null. */
const eventTarget = object(
  {
    firehose: described(nullable(firehose), 'An Amazon Data Firehose delivery stream.'),
    kinesis: described(nullable(kinesis), 'An Amazon Kinesis data stream.'),
    cloudwatch_logs: described(nullable(cloudWatchLogs), 'An Amazon CloudWatch log group.'),
    monitoring: described(nullable(datadog), 'Datadog.'),
    azure_logs_ingestion: described(nullable(azureMonitor), 'Azure Monitor.'),
    s3: described(nullable(s3), 'An Amazon S3 bucket.'),
    webhook: described(nullable(webhook), 'An HTTP endpoint that receives signed requests.'),
  },
  {
    name: 'EventTarget',
    rule: (target) =>
      Object.values(target).filter((member) => member !== null).length === 1
        ? undefined
        : `exactly one target must be given: ${Object.keys(target).join(', ')}.`,
  },
)

const status = object(
  {
    last_success_at: described(nullable(text(64)), 'When the last delivery succeeded.'),
    last_error_at: described(nullable(text(64)), 'When the last delivery failed.'),
    last_error: described(nullable(text(4096)), 'The error message of the last failed delivery.'),
    backlog: described(integer(0, Number.MAX_SAFE_INTEGER, 0), 'The number of queued events.'),
    dead: described(
      integer(0, Number.MAX_SAFE_INTEGER, 0),
      'The number of dead letters: events that could not be delivered.',
    ),
    dropped: described(
      integer(0, Number.MAX_SAFE_INTEGER, 0),
      'The number of events dropped because the queue was full.',
    ),
    disabled: described(
      flag(false),
      'Whether deliveries have stopped because the destination returned 410 Gone.',
    ),
  },
  { name: 'EventDestinationStatus' },
)

/** A sink of the account that receives the events of the subscriptions that name it. */
export const EventDestination = defineResource({
  name: 'event destination',
  description: 'Where events are sent.',
  path: '/event_destinations',
  prefix: 'ed',
  listKey: 'event_destinations',
  event: 'event_destination',
  roles: { change: 'admin' },
  fields: {
    ...common,
    format: editable(
      {
        ...matching(
          16,
          /^[Jj][Ss][Oo][Nn]$/,
          (value) => `"${value}" is not a known format; the only one is json.`,
        ),
        fallback: 'json',
      },
      'The format of events. The only supported format is json.',
    ),
    target: editable(required(eventTarget), 'Where the events are sent. Choose exactly one target.', {
      webhook: { url: 'https://hooks.example.com/events', secret: 'a long random secret' },
    }),
    status: live(nullable(status), 'The state of deliveries.'),
  },
})
