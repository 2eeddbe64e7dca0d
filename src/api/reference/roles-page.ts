import { GUARDS, hasRole, ROLES } from '../../resources/index.ts'
import { routes } from '../all-routes.ts'
import type { ApiRoute } from '../routes.ts'

const INTRODUCTION = `# Roles

Which role may call which operation of the [management API](management-api.md). The page is generated from the declarations
that the server enforces (\`npm run roles\`); the same facts are in [openapi.json](openapi.json) as \`x-required-role\` and
\`x-required-role-when\`. A call that its role does not allow is answered with 403 and changes nothing.

- **read_only** reads everything except users, bots and the audit log, and sees no secrets: \`client_secret\` and webhook secrets of
  modules are \`null\`.
- **developer** also changes everything except what is marked *admin*. Bots are developers by default.
- **admin** may call everything.

It holds for API keys, which act for their owner, and for dashboard sessions. Beside these operations the
dashboard lets every user change their own password and second factor, and administrators set a new password for others.

A developer needs *admin* for a few objects of operations that are otherwise open to developers. The table names the guard:
`

/** One cell of the table: whether the role may call the operation. */
function renderCell({ requires }: ApiRoute, role: (typeof ROLES)[number]): string {
  if (!hasRole(role, requires.role)) return ''
  return requires.guard === undefined || hasRole(role, GUARDS[requires.guard].role) ? 'yes' : requires.guard
}

/** Generates docs/roles.md: which role may call which operation. */
export function rolesPage(): string {
  const guards = Object.entries(GUARDS).map(([name, { when }]) => `- \`${name}\`: ${when};`)
  const rows = routes.map(
    (route) =>
      `| \`${route.method} ${route.path}\` | ${ROLES.map((role) => renderCell(route, role)).join(' | ')} |`,
  )
  return [
    INTRODUCTION,
    ...guards,
    '',
    `| Operation | ${ROLES.join(' | ')} |`,
    `|---|${ROLES.map(() => '---|').join('')}`,
    ...rows,
    '',
  ].join('\n')
}
