import { defineResource, fixed, identity, live } from './schema/define.ts'
import { httpUrl } from './schema/formats.ts'
import { choice, described, list, object, required, text } from './schema/value.ts'

const hostname = object(
  {
    hostname: described(text(255), 'The host of a reported URL.'),
    status: described(
      choice(['PENDING', 'BANNED', 'UNBANNED', 'IGNORE'], 'PENDING'),
      'What was decided about the host.',
    ),
  },
  { name: 'reported hostname' },
)

/** A record of URLs that were reported for abuse. It blocks nothing: the operator decides about them. */
export const AbuseReport = defineResource({
  name: 'abuse report',
  description: 'Records of URLs that were reported for abuse. A report does not block anything.',
  path: '/abuse_reports',
  prefix: 'abrp',
  listKey: 'abuse_reports',
  operations: ['create', 'get', 'list'],
  fields: {
    ...identity,
    urls: fixed(
      required(
        list(httpUrl(2048), {
          maxItems: 100,
          rule: (urls) => (urls.length === 0 ? 'must name at least one URL.' : undefined),
        }),
      ),
      'The reported URLs, at most 100.',
      ['https://app.example.com/login'],
    ),
    metadata: fixed(text(4096), 'Free text for your own programs, often JSON. At most 4096 bytes.'),
    status: live(
      choice(['PENDING', 'PROCESSED', 'PARTIALLY_PROCESSED'], 'PENDING'),
      'The state of the report; always PENDING.',
    ),
    hostnames: live(list(hostname), 'The hosts of the URLs.'),
  },
})
