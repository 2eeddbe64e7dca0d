/**
 * The component kit of the dashboard: buttons, dialogs, fields, tables, notices and the hooks that load data. It may use the
 * API client, the OpenAPI document and the page routing of the dashboard, but no page. Begin with `page.tsx` for the frame of
 * a page, `field.tsx` for form controls and `use-api.ts` for loading; `kit.css` holds the styles of all components.
 */

export { BreakableText } from './breakable-text.tsx'
export { Button, ButtonLink } from './button.tsx'
export { CopyButton, OneTimeSecret } from './copy-button.tsx'
export { Confirm, Dialog, DiscardQuestion } from './dialog.tsx'
export { Equivalent } from './equivalent.tsx'
export { Facts, Time } from './facts.tsx'
export { type ControlProps, Field, Search, Switch, TextField } from './field.tsx'
export { Form } from './form.tsx'
export { StrokeIcon } from './icon.tsx'
export { DeleteItem, ItemActions } from './item-actions.tsx'
export { Badge, EmptyState, LoadError, Loading, LoadStatus, Notice } from './notice.tsx'
export { Card, Page } from './page.tsx'
export { Pager } from './pager.tsx'
export { SegmentedControl } from './segmented-control.tsx'
export { ShellText } from './shell-text.tsx'
export { type Column, type Sort, Table } from './table.tsx'
export { notify, Toast } from './toast.tsx'
export { type LoadState, useApi, usePolling } from './use-api.ts'
