// Which ways in the server offers; a password until it says otherwise, so that the form does not wait for the answer.

import { useQuery } from "@tanstack/react-query";
import { usePlatform } from "../platform";

interface SignInMethods {
  password: boolean;
  oidc: boolean;
}

export function useSignInMethods(): SignInMethods {
  const { api } = usePlatform();
  const asked = useQuery({
    queryKey: ["sign-in methods"],
    queryFn: () => api.get<SignInMethods>("/api/v1/auth/methods"),
  });
  return asked.data ?? { password: true, oidc: false };
}
