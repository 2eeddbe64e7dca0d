import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from '../shared/theme.ts'
import { App } from './app.tsx'
import { takeLinkToken } from './set-password-page.tsx'
import '../shared/tokens.css'
import '../shared/base.css'
import '../shared/plot.css'
import './kit/kit.css'
import './shell.css'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App initialLink={takeLinkToken()} />
  </StrictMode>,
)
