import { common, defineResource, editable } from './schema/define.ts'
import { matching, required, text, withExamples } from './schema/value.ts'

const MAX_HTML_BYTES = 65_536

/** The placeholders of a page; each is replaced by its value, escaped for HTML. */
const PLACEHOLDERS = ['status', 'title', 'message', 'next_step', 'owner_step', 'code', 'host'] as const
export type ErrorPagePlaceholder = (typeof PLACEHOLDERS)[number]

/** Matches placeholders, such as `{{status}}`. */
export const PLACEHOLDER = /\{\{([a-z_]{1,32})\}\}/g

const status = matching(
  3,
  /^(?:all|[45]xx|[45][0-9]{2})$/,
  () => 'must be a status from 400 to 599, 4xx, 5xx, or all.',
)

const html = text(MAX_HTML_BYTES, (value) => {
  if (value.trim() === '') return 'must not be empty.'
  const known: readonly string[] = PLACEHOLDERS
  for (const [placeholder, name = ''] of value.matchAll(PLACEHOLDER))
    if (!known.includes(name))
      return `holds the unknown placeholder ${placeholder}. Known are ${known.map((each) => `{{${each}}}`).join(', ')}.`
  return undefined
})

/** Replaces the platform's error page on the hosts of an account. */
export const ErrorPage = defineResource({
  name: 'error page',
  description: 'Pages that replace the error pages of the platform on the hosts of the account.',
  path: '/error_pages',
  prefix: 'errp',
  listKey: 'error_pages',
  event: 'error_page',
  fields: {
    ...common,
    status: editable(
      required(withExamples(status, ['all', '4xx', '5xx', '403', '404', '429', '502', '503'])),
      'The status that the page is for, such as 502; 4xx and 5xx for the rest of their class; all for every other status.',
      '502',
    ),
    html: editable(
      required(html),
      'A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run.',
      '<h1>{{title}}</h1><p>{{message}}</p>',
    ),
  },
  naturalName: ({ status }) => status,
  unique: ({ status }) => [
    {
      within: 'account',
      scope: 'error_page',
      name: status,
      conflict: `There is an error page for ${status} already.`,
    },
  ],
})
