import "@mantine/core/styles.css";
import "./theme.css";
import { createTheme, MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Api, ApiError } from "./api/client";
import { connect } from "./live/connect";
import { Live } from "./live/live";
import { currentLanguage, startLanguage } from "./locales";
import { type Platform, PlatformContext } from "./platform";
import { router } from "./router";

const RETRIES = 2;

/** The stream says when something changed, so nothing grows old by itself; a refusal is not asked for again. */
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < RETRIES && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

startLanguage();
// its relative address would be read anew from wherever one goes
const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
icon?.setAttribute("href", icon.href);
const live = new Live(queries);
const platform: Platform = { api: new Api(currentLanguage), queries, live, line: connect(live.hear) };
const theme = createTheme({ primaryColor: "teal", fontSmoothing: true, cursorType: "pointer" });
const container = document.getElementById("root");

// All variables are in theme.css and no component here needs a style element: the strict style-src holds.
if (container !== null) {
  createRoot(container).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        withCssVariables={false}
        withGlobalClasses={false}
      >
        <QueryClientProvider client={queries}>
          <PlatformContext value={platform}>
            <RouterProvider router={router} />
          </PlatformContext>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
